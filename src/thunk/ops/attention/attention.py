"""Scaled dot product attention, one operator so that a backend may fuse it.

Enters: queries, keys and values of (..., length, features), a mask. Leaves: mixed values.
Invariant: a query that may attend to nothing gets zeros; half precision is computed in single.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.attention.blocks import by_blocks, scale_of
from thunk.ops.declare import composite
from thunk.ops.registry import t
from thunk.types.dtype import bool_, float32

_NAME = "_scaled_dot_product_attention"


def _check(query: Any, key: Any, value: Any, mask: Any, is_causal: bool) -> None:
    specs = [each._spec for each in (query, key, value)]
    if len({spec.dtype for spec in specs}) != 1:
        raise expected(
            "query, key, and value of the same dtype", [spec.dtype for spec in specs],
            "convert them with .to(...)",
        )  # fmt: skip
    if min(spec.ndim for spec in specs) < 2:
        raise expected(
            "query, key, and value of at least 2 dimensions", [spec.ndim for spec in specs]
        )
    if mask is not None:
        if mask._spec.dtype not in (bool_, float32, specs[0].dtype):
            raise expected(
                f"attn_mask of dtype bool, float, or the query's {specs[0].dtype!r}",
                repr(mask._spec.dtype),
            )
        if is_causal:
            raise Mismatch(
                f"{_NAME}: Explicit attn_mask should not be set when is_causal=True; pass one"
            )


def _repeated_heads(query: Any, shared: Any) -> Any:
    """Keys or values shared by groups of query heads, once for each of them."""
    heads, groups = query._spec.shape[-3], shared._spec.shape[-3]
    if groups == 0 or heads % groups:
        raise Mismatch(
            f"expected key and value heads that divide the query's {heads}, got {groups}"
        )
    return t.repeat_interleave(shared, heads // groups, dim=-3)


def _added_mask(mask: Any, query: Any) -> Any:
    """A mask as numbers to add to the scores: minus infinity where nothing may pass."""
    if mask._spec.dtype is not bool_:
        return mask.to(query._spec.dtype)
    zeros = t.zeros(mask._spec.shape, dtype=query._spec.dtype, device=query._spec.device)
    return t.where(mask, zeros, t.full_like(zeros, float("-inf")))


def _causal_mask(query: Any, key: Any) -> Any:
    """Which keys stand no later than each query."""
    shape = (query._spec.shape[-2], key._spec.shape[-2])
    return t.tril(t.ones(shape, dtype=bool_, device=query._spec.device))


@composite(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
    "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, "
    "bool enable_gqa=False) -> Tensor",
    variants="function",
    module="nn",
    autocast="lower",
)
def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """Values mixed by the softmax of scaled products of queries and keys."""
    _check(query, key, value, attn_mask, is_causal)
    element = query._spec.dtype
    if element.itemsize == 2:
        query, key, value = [each.to(float32) for each in (query, key, value)]
    if enable_gqa:
        key, value = _repeated_heads(query, key), _repeated_heads(query, value)
    if by_blocks(query, key, value, attn_mask, dropout_p):
        added = None if attn_mask is None else _added_mask(attn_mask, query)
        found = t._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, is_causal, attn_mask=added, scale=scale
        )[0]
        return found if element is float32 else found.to(element)
    scale = scale_of(query, scale)
    scores = t.matmul(query * scale, t.transpose(key, -2, -1))
    mask = _causal_mask(query, key) if is_causal else attn_mask
    if mask is None:
        share = t.softmax(scores, -1)
    else:
        share = t._safe_softmax(scores + _added_mask(mask, query), -1)
    if dropout_p > 0:
        share = t.dropout(share, dropout_p, True)
    found = t.matmul(share, value)
    return found if found._spec.dtype is element else found.to(element)
