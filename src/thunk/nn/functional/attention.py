"""Attention with several heads, with the signature of `torch.nn.functional`.

Enters: sequences of (length, sample, features) or (length, features), weights. Leaves: sequences
and, if asked for, how much each element attended to each. Invariant: between projections, a batch
is one of samples times heads.
"""

from __future__ import annotations

import math
from typing import Any

from thunk.nn.functional.attention_inputs import (
    _canonical_mask,
    _none_or_dtype,
    check_dimensions,
    check_static,
    project_apart,
    project_packed,
    sized_mask,
    widened,
)
from thunk.ops import families
from thunk.ops.registry import t

__all__ = ["_canonical_mask", "_none_or_dtype", "multi_head_attention_forward"]

DECLARED = families.FAMILIES


def multi_head_attention_forward(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int,
    in_proj_weight: Any, in_proj_bias: Any, bias_k: Any, bias_v: Any, add_zero_attn: bool,
    dropout_p: float, out_proj_weight: Any, out_proj_bias: Any, training: bool = True,
    key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None,
    v_proj_weight: Any = None, static_k: Any = None, static_v: Any = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Attention in several projections at once; also the weights, averaged over heads or not."""
    batched = check_dimensions(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = [t.unsqueeze(each, 1) for each in (query, key, value)]
        if key_padding_mask is not None:
            key_padding_mask = t.unsqueeze(key_padding_mask, 0)
    key_padding_mask, attn_mask, is_causal = _masks(
        query, key_padding_mask, attn_mask, is_causal, need_weights
    )
    _check_features(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    length, samples, features = query.shape
    heads = samples * num_heads
    attn_mask = sized_mask(attn_mask, heads, length, key.shape[0])
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = project_apart(query, key, value, weights, in_proj_bias)
    else:
        q, k, v = project_packed(query, key, value, in_proj_weight, in_proj_bias)
    if _has_bias(bias_k, bias_v, static_k, static_v):
        k = t.cat([k, bias_k.repeat(1, samples, 1)])
        v = t.cat([v, bias_v.repeat(1, samples, 1)])
        attn_mask, key_padding_mask = widened(attn_mask), widened(key_padding_mask)
    width = features // num_heads
    q = _split_heads(q, heads, width)
    k = _split_heads(k, heads, width) if static_k is None else check_static(static_k, heads, width)
    v = _split_heads(v, heads, width) if static_v is None else check_static(static_v, heads, width)
    if add_zero_attn:
        k, v = _with_zeros(k), _with_zeros(v)
        attn_mask, key_padding_mask = widened(attn_mask), widened(key_padding_mask)
    mask = _merged(attn_mask, key_padding_mask, samples, num_heads, k.shape[1])
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        mixed, shares = _with_weights(q, k, v, mask, dropout_p, is_causal)
        mixed = t.transpose(mixed, 0, 1)
    else:
        mixed = _without_weights(q, k, v, mask, dropout_p, is_causal, (samples, num_heads))
    output = t.linear(
        mixed.reshape((length * samples, features)), out_proj_weight, out_proj_bias
    )
    output = output.reshape((length, samples, output.shape[1]))
    if not batched:
        output = t.squeeze(output, 1)
    if not need_weights:
        return output, None
    shares = shares.reshape((samples, num_heads, length, k.shape[1]))
    if average_attn_weights:
        shares = t.mean(shares, 1)
    return output, shares if batched else t.squeeze(shares, 0)


def _has_bias(bias_k: Any, bias_v: Any, static_k: Any, static_v: Any) -> bool:
    """Whether a learned key and value are appended; raises where the arguments disagree."""
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v are set together; one of them is None")
    if bias_k is None:
        return False
    if static_k is not None or static_v is not None:
        raise AssertionError("bias cannot be added to static key or value.")
    return True


def _masks(
    query: Any, key_padding_mask: Any, attn_mask: Any, is_causal: bool, need_weights: bool
) -> tuple[Any, Any, bool]:
    """Both masks as numbers to add, and whether `is_causal` replaces the attention mask."""
    padding = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding is None and not need_weights:
        return None, None, True
    mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
    return padding, mask, is_causal and padding is None


def _check_features(
    query: Any, key: Any, value: Any, wanted: int, num_heads: int, separate: bool
) -> None:
    features = query.shape[-1]
    if features != wanted:
        raise AssertionError(
            f"was expecting embedding dimension of {wanted}, but got {features}"
        )
    if features % num_heads:
        raise AssertionError(f"embed_dim {features} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _split_heads(projected: Any, heads: int, width: int) -> Any:
    """(length, sample, features) as (sample and head, length, features of a head)."""
    return t.transpose(projected.reshape((projected.shape[0], heads, width)), 0, 1)


def _with_zeros(sequence: Any) -> Any:
    """One more element, of zeros, at the end of each sequence."""
    shape = (sequence.shape[0], 1, sequence.shape[2])
    zeros = t.zeros(shape, dtype=sequence.dtype, device=sequence.device)
    return t.cat([sequence, zeros], 1)


def _merged(
    attn_mask: Any, key_padding_mask: Any, samples: int, num_heads: int, length: int
) -> Any:
    """One mask of (sample and head or 1, queries or 1, keys), or None."""
    if key_padding_mask is None:
        return attn_mask
    if tuple(key_padding_mask.shape) != (samples, length):
        raise AssertionError(
            f"Expected key_padding_mask of shape {(samples, length)}, but got "
            f"{tuple(key_padding_mask.shape)}"
        )
    padding = key_padding_mask.reshape((samples, 1, 1, length))
    padding = padding.expand((samples, num_heads, 1, length))
    padding = padding.reshape((samples * num_heads, 1, length))
    return padding if attn_mask is None else attn_mask + padding


def _with_weights(
    q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool
) -> tuple[Any, Any]:
    if is_causal and mask is None:
        raise AssertionError("is_causal needs attn_mask where need_weights is set")
    scores = t.bmm(q * math.sqrt(1.0 / q.shape[-1]), t.transpose(k, -2, -1))
    shares = t.softmax(scores if mask is None else scores + mask, -1)
    if dropout_p > 0.0:
        shares = t.dropout(shares, dropout_p, True)
    return t.bmm(shares, v), shares


def _without_weights(
    q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool,
    batch: tuple[int, int],
) -> Any:  # fmt: skip
    """Mixed values as (length, sample, head, features of a head)."""
    if mask is not None:
        if mask.shape[0] == 1:
            mask = t.unsqueeze(mask, 0)
        else:
            mask = mask.reshape((*batch, mask.shape[1], k.shape[1]))
    apart = [each.reshape((*batch, *each.shape[1:])) for each in (q, k, v)]
    mixed = t.scaled_dot_product_attention(*apart, mask, dropout_p, is_causal)
    return mixed.permute((2, 0, 1, 3))
