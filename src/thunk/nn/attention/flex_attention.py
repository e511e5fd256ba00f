"""Attention whose scores a function may change, under the names of `torch.nn.attention`.

Enters: queries, keys and values of (sample, head, length, features), a function of scores, a mask.
Leaves: mixed values. Invariant: a query that may attend to nothing gets zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from thunk.nn.attention.flex_masks import (
    _DEFAULT_SPARSE_BLOCK_SIZE as _DEFAULT_SPARSE_BLOCK_SIZE,
)
from thunk.nn.attention.flex_masks import (
    BlockMask,
    _no_mask_of_a_slice,
    and_masks,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
    places,
)
from thunk.ops.registry import t
from thunk.types.dtype import float32, float64

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask",
    "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

ScoreMod = Callable[[Any, Any, Any, Any, Any], Any]


class AuxRequest(NamedTuple):
    """What to return beside the values."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The logarithms of the sums of exponentials of scores, and the largest scores."""

    lse: Any = None
    max_scores: Any = None


def flex_attention(
    query: Any, key: Any, value: Any, score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
    return_lse: bool = False, kernel_options: Any = None, *, return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """Values mixed by the softmax of scores that `score_mod` changes and `block_mask` hides."""
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux; use return_aux=AuxRequest(lse=True)"
        )
    mask = None if block_mask is None else block_mask.passing(query.device)
    if score_mod is None and not return_lse and return_aux is None and len(query) == len(key):
        return t.scaled_dot_product_attention(
            query, key, value, mask, scale=scale, enable_gqa=enable_gqa
        )
    scores = _scores(query, key, scale)
    if score_mod is not None:
        scores = score_mod(scores, *places(tuple(scores.shape), query.device))
    if mask is not None:
        scores = t.where(mask, scores, float("-inf"))
    found = t.matmul(t._safe_softmax(scores, -1).to(query.dtype), _repeated(value, query))
    if return_lse:
        return found, t.logsumexp(scores, -1)
    if return_aux is None:
        return found
    lse = t.logsumexp(scores, -1) if return_aux.lse else None
    return found, AuxOutput(lse, t.amax(scores, -1) if return_aux.max_scores else None)


def _repeated(shared: Any, query: Any) -> Any:
    """Keys or values once for each query head that shares them, and for each sample."""
    groups = query.shape[1] // shared.shape[1]
    found = shared if groups == 1 else t.repeat_interleave(shared, groups, dim=1)
    return t.expand(found.to(query.dtype), (query.shape[0], *found.shape[1:]))


def _scores(query: Any, key: Any, scale: float | None) -> Any:
    """Scaled products in single precision at least."""
    element = float64 if query.dtype is float64 else float32
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    keys = t.transpose(_repeated(key, query).to(element), -2, -1)
    return t.matmul(query.to(element), keys) * factor


def _check(
    query: Any, key: Any, value: Any, block_mask: BlockMask | None, enable_gqa: bool
) -> None:
    if {query.dim(), key.dim(), value.dim()} != {4}:
        raise NotImplementedError(
            "flex_attention: expected query, key and value of 4 dimensions, got "
            f"{[query.dim(), key.dim(), value.dim()]}; add dimensions of samples and heads"
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"Expect query and key/value to have the same embedding dimension but got "
            f"E={query.shape[-1]} and E={key.shape[-1]}."
        )
    heads, shared = query.shape[1], key.shape[1]
    if not enable_gqa and heads != shared:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={heads} and Hkv={shared}. Try setting enable_gqa=True for GQA."
        )
    if heads % shared:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={shared}."
        )
    if block_mask is None:
        return
    if block_mask.mask_mod is _no_mask_of_a_slice:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    wanted = (query.shape[-2], key.shape[-2])
    if tuple(block_mask.shape[-2:]) != wanted:
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got "
            f"q_len={wanted[0]} and kv_len={wanted[1]}; create one of these lengths"
        )
