"""Diagonals: the view, the copy with a diagonal replaced, and matrices made of them."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.ops.rules.zeros import zeros_for
from thunk.ops.view.slicing import expect_part
from thunk.types.spec import TensorSpec


def _two_dims(ndim: int, dim1: int, dim2: int) -> tuple[int, int]:
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise Mismatch(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


def _diagonal(self: TensorSpec, offset: int, dim1: int, dim2: int) -> TensorSpec:
    first, second = _two_dims(self.ndim, dim1, dim2)
    rows = self.shape[first] + min(offset, 0)
    columns = self.shape[second] - max(offset, 0)
    length = max(min(rows, columns), 0)
    start = self.offset
    if length:
        moved = second if offset >= 0 else first
        start += abs(offset) * self.strides[moved]
    kept = [d for d in range(self.ndim) if d not in (first, second)]
    return self.window(
        (*[self.shape[d] for d in kept], length),
        (*[self.strides[d] for d in kept], self.strides[first] + self.strides[second]),
        start,
    )


declare(
    "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    doc="The diagonal of two dimensions, as the last dimension.",
    spec=_diagonal,
    vjp={
        "self": lambda grad, self_spec, offset, dim1, dim2: t.diagonal_scatter(
            zeros_for(grad, self_spec), grad, offset, dim1, dim2
        )
    },
    view=True,
)

declare(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    doc="A copy of `self` whose diagonal is `src`.",
    spec=lambda self, src, offset, dim1, dim2: expect_part(
        self, _diagonal(self, offset, dim1, dim2), src
    ),
    vjp={
        "self": lambda grad, src_spec, offset, dim1, dim2: t.diagonal_scatter(
            grad, zeros_for(grad, src_spec), offset, dim1, dim2
        ),
        "src": lambda grad, offset, dim1, dim2: t.diagonal(grad, offset, dim1, dim2),
    },
    variants="function method out",
)


@composite("diag(Tensor self, int diagonal=0) -> Tensor", variants="function method out")
def diag(self: Any, diagonal: int) -> Any:
    """A vector as the diagonal of a matrix, or a copy of a matrix's diagonal."""
    ndim = self._spec.ndim
    if ndim not in (1, 2):
        raise Mismatch(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    if ndim == 1:
        return t.diag_embed(self, diagonal)
    return t.clone(t.diagonal(self, diagonal))


@composite(
    "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    variants="function method out",
)
def diag_embed(self: Any, offset: int, dim1: int, dim2: int) -> Any:
    """Zeros with `self` on the diagonals of two new dimensions."""
    spec: TensorSpec = self._spec
    first, second = _two_dims(spec.ndim + 1, dim1, dim2)
    if not spec.shape:
        raise Mismatch("expected a tensor with dimensions, got a 0-dim tensor", IndexError)
    size = spec.shape[-1] + abs(offset)
    shape = list(spec.shape[:-1])
    for place in sorted((first, second)):
        shape.insert(place, size)
    blank = t.zeros(shape, dtype=spec.dtype, device=spec.device)
    return t.diagonal_scatter(blank, self, offset, first, second)


@composite("diagflat(Tensor self, int offset=0) -> Tensor")
def diagflat(self: Any, offset: int) -> Any:
    """All elements on the diagonal of a matrix."""
    return t.diag(t.reshape(self, (-1,)), offset)


@composite(
    "fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)",
    variants="method",
)
def fill_diagonal_(self: Any, fill_value: Any, wrap: bool) -> Any:
    """One value where all indices are equal; `wrap` begins again below a tall matrix's square."""
    shape, strides = self._spec.shape, self._spec.strides
    if len(shape) < 2:
        raise Mismatch(f"dimensions must larger than 1, got {len(shape)}")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise Mismatch(f"all dimensions of input must be of equal length, got {tuple(shape)}")
    step = sum(strides)
    count = min(shape)
    t.fill_(t.as_strided(self, (count,), (step,), self._spec.offset), fill_value)
    rows, columns = shape[0], shape[1]
    if wrap and len(shape) == 2 and rows > columns + 1:
        start = strides[0] * (columns + 1)
        rest = range(columns + 1, rows, columns + 1)
        for number, row in enumerate(rest):
            size = min(columns, rows - row)
            begin = self._spec.offset + start * (number + 1)
            t.fill_(t.as_strided(self, (size,), (step,), begin), fill_value)
    return self
