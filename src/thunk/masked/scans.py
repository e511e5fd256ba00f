"""Masked running sums and products."""

from __future__ import annotations

from typing import Any

from thunk.masked.masking import dim_of, masked_out
from thunk.ops.registry import t


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The running sum of the elements that count."""
    position = dim_of("cumsum", dim, input._spec.ndim)
    element = input._spec.dtype if dtype is None else dtype
    return t.cumsum(masked_out("sum", input, mask), position, dtype=element)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The running product of the elements that count."""
    position = dim_of("cumprod", dim, input._spec.ndim)
    element = input._spec.dtype if dtype is None else dtype
    return t.cumprod(masked_out("prod", input, mask), position, dtype=element)
