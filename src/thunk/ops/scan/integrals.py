"""Integrals by the trapezoidal rule, whole and running."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.types.dtype import bool_


def _position(name: str, y: Any, dim: int) -> int:
    """The dimension to integrate along; refuses bool."""
    try:
        position = wrap_dim(dim, y._spec.ndim)
        if y._spec.dtype is bool_:
            raise expected("`y` of another dtype", "a bool tensor", "convert it")
    except Mismatch as mismatch:
        raise mismatch.named(name) from None
    return position


def _neighbours(values: Any, dim: int) -> tuple[Any, Any]:
    count = max(values._spec.shape[dim] - 1, 0)
    later = t.narrow(values, dim, min(1, values._spec.shape[dim]), count)
    return t.narrow(values, dim, 0, count), later


def _steps(name: str, y: Any, x: Any, dim: int) -> Any:
    """The widths of the trapezoids, shaped to broadcast against `y`."""
    ndim, count = y._spec.ndim, y._spec.shape[dim]
    if x._spec.dtype is bool_:
        raise RuntimeError(f"{name}: expected `x` of another dtype, got a bool tensor; convert it")
    if x._spec.ndim == 1:
        if x._spec.shape[0] != count:
            raise RuntimeError(
                f"{name}: expected one `x` value for each of {count} sample points, "
                f"got {x._spec.shape[0]}"
            )
        x = t.reshape(x, [count if d == dim else 1 for d in range(ndim)])
    elif x._spec.ndim < ndim:
        x = t.reshape(x, [1] * (ndim - x._spec.ndim) + list(x._spec.shape))
    left, right = _neighbours(x, dim)
    return right - left


def _zeros(y: Any, dim: int) -> Any:
    """The integral of no samples."""
    spec = y._spec
    shape = [size for d, size in enumerate(spec.shape) if d != dim]
    return t.zeros(shape, dtype=spec.dtype, device=spec.device)


def _refuse_dx(name: str, dx: Any) -> None:
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: expected dx to be a real number, got {dx!r}")


@composite("trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", variants="function")
def trapezoid_x(y: Any, x: Any, *, dim: int = -1) -> Any:
    """The integral of samples `y` at points `x` by the trapezoidal rule."""
    position = _position("trapezoid", y, dim)
    if not y._spec.shape[position]:
        return _zeros(y, position)
    steps = _steps("trapezoid", y, x, position)
    left, right = _neighbours(y, position)
    return t.sum((left + right) * steps, position) / 2.0


@composite(
    "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", variants="function", static="dx"
)
def trapezoid_dx(y: Any, *, dx: Any = 1, dim: int = -1) -> Any:
    """The integral of samples at equal steps by the trapezoidal rule."""
    position = _position("trapezoid", y, dim)
    if not y._spec.shape[position]:
        return _zeros(y, position)
    _refuse_dx("trapezoid", dx)
    ends = t.select(y, position, 0) + t.select(y, position, -1)
    return (t.sum(y, position) - ends * 0.5) * float(dx)


@composite("trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", variants="function")
def trapz_x(y: Any, x: Any, *, dim: int = -1) -> Any:
    """An older name of `trapezoid`."""
    return t.trapezoid(y, x, dim=dim)


@composite(
    "trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", variants="function", static="dx"
)
def trapz_dx(y: Any, *, dx: float = 1.0, dim: int = -1) -> Any:
    """An older name of `trapezoid`."""
    return t.trapezoid(y, dx=dx, dim=dim)


@composite(
    "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", variants="function"
)
def cumulative_x(y: Any, x: Any, *, dim: int = -1) -> Any:
    """The running integral of samples `y` at points `x`."""
    position = _position("cumulative_trapezoid", y, dim)
    steps = _steps("cumulative_trapezoid", y, x, position)
    left, right = _neighbours(y, position)
    return t.cumsum((left + right) * steps, position) / 2.0


@composite(
    "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    variants="function",
    static="dx",
)
def cumulative_dx(y: Any, *, dx: Any = 1, dim: int = -1) -> Any:
    """The running integral of samples at equal steps."""
    position = _position("cumulative_trapezoid", y, dim)
    _refuse_dx("cumulative_trapezoid", dx)
    left, right = _neighbours(y, position)
    return t.cumsum(float(dx) / 2.0 * (left + right), position)
