"""Matrices made from sizes: identities, triangle indices, Vandermonde matrices."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ops.creation.factory import CONSTANT, FACTORY, INDEX_FACTORY, factory
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec


def _eye_m(
    n: int, m: int, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:  # fmt: skip
    for name, value in (("n", n), ("m", m)):
        if value < 0:
            raise expected(f"{name} to be greater or equal to 0", value)
    return factory((n, m), dtype, layout, device, pin_memory)


def _eye(n: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    return _eye_m(n, n, dtype, layout, device, pin_memory)


declare(
    f"eye(SymInt n, *, {FACTORY}) -> Tensor",
    doc="The identity matrix.",
    spec=_eye,
    vjp=CONSTANT,
    variants="function out",
)
declare(
    f"eye.m(SymInt n, SymInt m, *, {FACTORY}) -> Tensor",
    doc="Ones on the diagonal of an n by m matrix.",
    spec=_eye_m,
    vjp=CONSTANT,
    variants="function out",
)


def lower_count(rows: int, columns: int, offset: int) -> int:
    """The number of places on or below a diagonal."""
    return sum(min(max(row + offset + 1, 0), columns) for row in range(rows))


def _checked_triangle(row: int, col: int, dtype: Any) -> None:
    if row < 0 or col < 0:
        raise expected("row and col to be non-negative", f"{row} and {col}")
    if dtype is not None and (dtype.is_inexact or dtype.itemsize < 4 or not dtype.is_signed):
        raise expected("int32 or int64", repr(dtype), kind=NotImplementedError)


def _tril(
    row: int, col: int, offset: int, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    _checked_triangle(row, col, dtype)
    count = lower_count(row, col, offset)
    return factory((2, count), dtype or int64, layout, device, pin_memory)


def _triu(
    row: int, col: int, offset: int, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    _checked_triangle(row, col, dtype)
    count = row * col - lower_count(row, col, offset - 1)
    return factory((2, count), dtype or int64, layout, device, pin_memory)


declare(
    f"tril_indices(int row, int col, int offset=0, *, {INDEX_FACTORY}) -> Tensor",
    doc="Row and column numbers of the lower triangle.",
    spec=_tril,
    vjp=CONSTANT,
    variants="function",
)
declare(
    f"triu_indices(int row, int col, int offset=0, *, {INDEX_FACTORY}) -> Tensor",
    doc="Row and column numbers of the upper triangle.",
    spec=_triu,
    vjp=CONSTANT,
    variants="function",
)


@composite("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", variants="function")
def vander(x: Any, N: int | None, increasing: bool) -> Any:
    """The powers of each element of a vector, highest first unless `increasing`."""
    if x.dim() != 1:
        raise expected("x to be a one-dimensional tensor", f"{x.dim()} dimensions")
    count = x.numel() if N is None else N
    if count < 0:
        raise expected("N to be non-negative", count)
    element = x.dtype if x.dtype.is_inexact else int64
    shape = (x.numel(), count)
    if count <= 1:
        return t.ones(shape, dtype=element, device=x.device)
    column = t.unsqueeze(x.to(element), 1)
    powers = t.cumprod(column.expand(x.numel(), count - 1), 1)
    ones = t.ones((x.numel(), 1), dtype=element, device=x.device)
    result = t.cat([ones, powers], 1)
    return result if increasing else t.flip(result, [1])
