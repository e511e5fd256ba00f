"""Differences along a dimension and the estimate of a gradient on a grid."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim, wrap_dims
from thunk.types.dtype import bool_, uint8


def _joined(self: Any, prepend: Any, append: Any, dim: int) -> Any:
    """`self` with what is to stand before and behind it along `dim`."""
    have = self._spec.shape
    for other in (prepend, append):
        if other is None:
            continue
        given = other._spec.shape
        if len(given) != len(have):
            raise expected(f"prepend and append of {len(have)} dimensions", f"{len(given)}")
        if any(a != b for d, (a, b) in enumerate(zip(have, given, strict=True)) if d != dim):
            raise expected(
                f"prepend and append to match {list(have)} except in dimension {dim}",
                f"{list(given)}",
            )
    parts = [each for each in (prepend, self, append) if each is not None]
    return t.cat(parts, dim) if len(parts) > 1 else self


@composite(
    "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
    variants="function method out",
)
def diff(self: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th difference of neighbours along one dimension."""
    try:
        if not self._spec.ndim:
            raise expected("at least one dimension", "a 0-dim tensor", "unsqueeze it")
        position = wrap_dim(dim, self._spec.ndim)
        if n < 0:
            raise expected("a non-negative order", n)
        if n:
            self = _joined(self, prepend, append, position)
    except Mismatch as mismatch:
        raise mismatch.named("diff") from None
    if not n:
        return t.clone(self)
    for _ in range(min(n, self._spec.shape[position])):
        left = self._spec.shape[position] - 1
        later, earlier = t.narrow(self, position, 1, left), t.narrow(self, position, 0, left)
        is_bool = self._spec.dtype is bool_
        self = t.logical_xor(later, earlier) if is_bool else later - earlier
    return self


def _check_gradient(self: Any, spacings: int | None, dim: Any, edge_order: int) -> None:
    spec = self._spec
    if spec.dtype is uint8:
        raise expected("another dtype", repr(spec.dtype), "convert it")
    if spacings is not None:
        count = spec.ndim if dim is None else len(dim)
        if spacings != count:
            raise expected(f"spacing of length {count}", f"{spacings}", "give one a dimension")
    if edge_order not in (1, 2):
        raise expected("edge_order=1 or edge_order=2", edge_order)
    for each in wrap_dims(dim, spec.ndim) if dim != () else ():
        if spec.shape[each] < edge_order + 1:
            raise expected(f"each dimension size to be at least {edge_order + 1}", spec.shape[each])


def _part(self: Any, dim: int, start: int, end: int | None = None) -> Any:
    size = self._spec.shape[dim]
    first = start % size if start else 0
    last = size if end is None else end % (size + 1) if end >= 0 else size + end
    return t.narrow(self, dim, first, max(last - first, 0))


def _along_even(self: Any, spacing: Any, dim: int, edge_order: int) -> Any:
    """Central differences on equal steps."""

    def part(start: int, end: int | None = None) -> Any:
        return _part(self, dim, start, end)

    centre = (part(2) - part(0, -2)) / spacing if self._spec.shape[dim] > 2 else part(0, 0)
    if edge_order == 1:
        first = (part(1, 2) - part(0, 1)) / spacing
        last = (part(-1) - part(-2, -1)) / spacing
    else:
        first = (-1.5 * part(0, 1) + 2 * part(1, 2) - 0.5 * part(2, 3)) / spacing
        last = (0.5 * part(-3, -2) - 2 * part(-2, -1) + 1.5 * part(-1)) / spacing
    return t.cat([first, centre / 2, last], dim)


def _along_uneven(self: Any, coordinates: Any, dim: int, edge_order: int) -> Any:
    """Second-order differences on steps of any size."""
    if coordinates._spec.ndim != 1:
        raise expected("spacing tensors of one dimension", f"{coordinates._spec.ndim}")
    steps = t.diff(coordinates)
    count = steps._spec.shape[0]
    before, after = t.narrow(steps, 0, 0, count - 1), t.narrow(steps, 0, 1, count - 1)
    shape = [-1 if d == dim else 1 for d in range(self._spec.ndim)]

    def part(start: int, end: int | None = None) -> Any:
        return _part(self, dim, start, end)

    centre = part(0, 0)
    if self._spec.shape[dim] > 2:
        a = t.reshape(-after / (before * (before + after)), shape)
        b = t.reshape((after - before) / (before * after), shape)
        c = t.reshape(before / (after * (before + after)), shape)
        centre = a * part(0, -2) + b * part(1, -1) + c * part(2)
    if edge_order == 1:
        first = (part(1, 2) - part(0, 1)) / t.select(steps, 0, 0)
        last = (part(-1) - part(-2, -1)) / t.select(steps, 0, -1)
    else:
        first = _one_sided([part(0, 1), part(1, 2), part(2, 3)], steps, 0, 1)
        last = -_one_sided([part(-1), part(-2, -1), part(-3, -2)], steps, -1, -2)
    return t.cat([first, centre, last], dim)


def _one_sided(points: list[Any], steps: Any, near: int, far: int) -> Any:
    """The slope at the first of three points, from the outer end inwards."""
    x, y = t.select(steps, 0, near), t.select(steps, 0, far)
    outer = -(2 * x + y) / (x * (x + y))
    middle = (x + y) / (x * y)
    inner = -x / (y * (x + y))
    return outer * points[0] + middle * points[1] + inner * points[2]


def _gradient(self: Any, spacings: Any, dim: Any, edge_order: int, count: int | None) -> Any:
    """One estimate a dimension; `spacings` are numbers, or tensors of coordinates."""
    try:
        _check_gradient(self, count, dim, edge_order)
        dims = wrap_dims(dim, self._spec.ndim) if dim != () else ()
        found = []
        for position, spacing in zip(dims, spacings * len(dims), strict=False):
            is_tensor = hasattr(spacing, "_spec")
            along = _along_uneven if is_tensor else _along_even
            found.append(along(self, spacing, position, edge_order))
    except Mismatch as mismatch:
        raise mismatch.named("gradient") from None
    return tuple(found)


def _declare_gradient(overload: str, spacing: str, dim: str) -> None:
    """One overload; `spacing` is one number, or a list with an item for each dimension."""
    many = "[]" in spacing

    def gradient(self: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
        dims = (dim,) if isinstance(dim, int) else dim
        given = tuple(spacing) if many else (1 if spacing is None else spacing,)
        return _gradient(self, given, dims, edge_order, len(given) if many else None)

    head = f"gradient.{overload}(Tensor self, *, "
    parts = ", ".join(part for part in (spacing, dim, "int edge_order=1") if part)
    composite(
        f"{head}{parts}) -> Tensor[]",
        doc="Estimates of the gradient of samples on a grid, one a dimension.",
        variants="function",
        static="spacing",
    )(gradient)


_ONE, _SOME = "int? dim=None", "int[] dim"
_declare_gradient("scalarint", "Scalar? spacing=None", _ONE)
_declare_gradient("scalararray", "Scalar spacing", _SOME)
_declare_gradient("array", "", _SOME)
_declare_gradient("scalarrayint", "Scalar[] spacing", _ONE)
_declare_gradient("scalarrayarray", "Scalar[] spacing", _SOME)
_declare_gradient("tensorarrayint", "Tensor[] spacing", _ONE)
_declare_gradient("tensorarray", "Tensor[] spacing", _SOME)
