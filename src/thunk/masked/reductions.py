"""Masked reductions that have an identity."""

from __future__ import annotations

from typing import Any

from thunk.masked.masking import dims_of, masked_out, widened
from thunk.ops.registry import t
from thunk.types.dtype import int64


def sum(
    input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    """The sum along dimensions of the elements that count."""
    dims = dims_of("sum", dim, input._spec.ndim)
    element = widened(dtype, input._spec.dtype, int64)
    return t.sum(masked_out("sum", input, mask), dims, bool(keepdim), dtype=element)


def prod(
    input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    """The product along dimensions of the elements that count."""
    dims = dims_of("prod", dim, input._spec.ndim)
    element = widened(dtype, input._spec.dtype, int64)
    result = masked_out("prod", input, mask).to(element)
    if not dims and dim not in (None, ()):
        dims = (0,)  # of a 0-dim tensor: the result is a new one
    for each in reversed(dims):
        result = t.prod(result, each, bool(keepdim))
    return result


def amax(
    input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    """The largest along dimensions of the elements that count."""
    dims = dims_of("amax", dim, input._spec.ndim)
    result = t.amax(masked_out("amax", input, mask), dims, bool(keepdim))
    return result if dtype is None else result.to(dtype)


def amin(
    input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    """The smallest along dimensions of the elements that count."""
    dims = dims_of("amin", dim, input._spec.ndim)
    result = t.amin(masked_out("amin", input, mask), dims, bool(keepdim))
    return result if dtype is None else result.to(dtype)


def argmax(
    input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    """The index of the largest element that counts, in the dtype of the elements by default."""
    result = t.argmax(masked_out("argmax", input, mask), dim, bool(keepdim))
    return result.to(input._spec.dtype if dtype is None else dtype)


def argmin(
    input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    """The index of the smallest element that counts, in the dtype of the elements by default."""
    result = t.argmin(masked_out("argmin", input, mask), dim, bool(keepdim))
    return result.to(input._spec.dtype if dtype is None else dtype)


def logsumexp(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """`log(sum(exp(input)))` along dimensions over the elements that count."""
    dims = dims_of("logsumexp", dim, input._spec.ndim)
    result = t.logsumexp(masked_out("logsumexp", input, mask), dims, keepdim)
    return result.to(input._spec.dtype if dtype is None else dtype)


def norm(
    input: Any, ord: Any = 2.0, dim: Any = None, *, keepdim: bool | None = False,
    dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The norm of order `ord` along dimensions of the elements that count."""
    dims = dims_of("norm", dim, input._spec.ndim)
    element = input._spec.dtype if dtype is None else dtype
    kept = masked_out("norm", input, mask, ord)
    return t.linalg_vector_norm(kept, 2 if ord is None else ord, dims, bool(keepdim), dtype=element)
