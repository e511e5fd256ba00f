"""Masked operators whose results keep the shape: softmax and its kin, normalisation, logaddexp."""

from __future__ import annotations

from typing import Any

from thunk.masked.masking import dim_of, masked_out
from thunk.masked.reductions import norm
from thunk.ops.registry import t


def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The softmax over the elements that count; zero elsewhere."""
    position = dim_of("softmax", dim, input._spec.ndim)
    element = input._spec.dtype if dtype is None else dtype
    return t.softmax(masked_out("amax", input, mask), position, dtype=element)


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The logarithm of the softmax over the elements that count."""
    position = dim_of("log_softmax", dim, input._spec.ndim)
    element = input._spec.dtype if dtype is None else dtype
    return t.log_softmax(masked_out("amax", input, mask), position, dtype=element)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The softmax of the negated elements that count."""
    position = dim_of("softmin", dim, input._spec.ndim)
    element = input._spec.dtype if dtype is None else dtype
    return t.softmax(-masked_out("amin", input, mask), position, dtype=element)


def normalize(
    input: Any, ord: Any, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None
) -> Any:
    """The elements that count over their norm; zero elsewhere."""
    kept = masked_out("sum", input, mask)
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return kept / t.clamp(length, min=eps)


def logaddexp(
    input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None
) -> Any:
    """`log(exp(input) + exp(other))`, leaving out what each mask leaves out."""
    left = masked_out("logaddexp", input, input_mask)
    right = masked_out("logaddexp", other, other_mask)
    return t.logaddexp(left, right).to(input._spec.dtype if dtype is None else dtype)
