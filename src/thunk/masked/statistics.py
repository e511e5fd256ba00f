"""Masked mean, median, variance and deviation; NaN where no element counts."""

from __future__ import annotations

from typing import Any

from thunk.masked.masking import dim_of, dims_of, mask_for, masked_out, widened
from thunk.masked.reductions import sum
from thunk.ops.pointwise.arithmetic import conjugate
from thunk.ops.reduce.shapes import count_of
from thunk.ops.registry import t
from thunk.types.dtype import float32


def _count(input: Any, dims: tuple[int, ...], keepdim: bool, mask: Any) -> Any:
    """How many elements count: a number, or a tensor where there is a mask."""
    if mask is None:
        return count_of(input._spec, dims)
    return t.sum(mask, dims, keepdim)


def mean(
    input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    """The mean along dimensions of the elements that count."""
    element = input._spec.dtype if dtype is None else dtype
    if not element.is_inexact:
        raise ValueError(
            f"masked.mean: expected a floating point or complex dtype, got {element!r}; pass dtype="
        )
    dims = dims_of("mean", dim, input._spec.ndim)
    inside = None if mask is None else mask_for(input, mask)
    total = sum(input, dims, keepdim=keepdim, dtype=element, mask=inside)
    return t.div(total, _count(input, dims, bool(keepdim), inside))


def median(
    input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The lower median along one dimension of the elements that count."""
    position = dim_of("median", dim, input._spec.ndim)
    element = input._spec.dtype
    kept = input if element.is_floating_point else input.to(float32)
    found = t.nanmedian(masked_out("median", kept, mask), position, keepdim)[0]
    if element.is_floating_point:
        return found
    if bool(t.any(t.isnan(found))):
        raise ValueError(
            "masked.median: expected no fully masked out rows if dtype is not floating point, "
            "got one; convert the tensor first"
        )
    return found.to(element if dtype is None else dtype)


def _spread(
    input: Any, dim: Any, unbiased: bool | None, correction: Any, keepdim: bool | None,
    dtype: Any, mask: Any,
) -> Any:  # fmt: skip
    """The masked variance."""
    if unbiased is not None and correction is not None:
        raise AssertionError("masked: expected one of unbiased and correction, got both")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0
    dims = dims_of("var", dim, input._spec.ndim)
    element = widened(dtype, input._spec.dtype, float32)
    computing = widened(None, element, float32)
    inside = None if mask is None else mask_for(input, mask)
    total = sum(input, dims, keepdim=True, dtype=element, mask=inside)
    centred = input - t.div(total, _count(input, dims, True, inside))
    squares = centred * conjugate(centred)
    spread = sum(squares, dims, keepdim=keepdim, dtype=computing, mask=inside)
    count = _count(input, dims, bool(keepdim), inside)
    if correction and inside is None:
        count = max(count - correction, 0.0)
    elif correction:
        count = t.clamp(count.to(computing.to_real()) - correction, min=0)
    return t.div(spread, count).to(element)


def var(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None,
    keepdim: bool | None = False, dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The variance along dimensions of the elements that count."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None,
    keepdim: bool | None = False, dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The standard deviation along dimensions of the elements that count."""
    return t.sqrt(_spread(input, dim, unbiased, correction, keepdim, dtype, mask))
