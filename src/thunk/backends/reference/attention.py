"""NumPy rules of attention and its gradient: whole matrices of scores, one sample at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule


def _scores(query: Any, key: Any, is_causal: bool, mask: Any, scale: float | None) -> Any:
    factor = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    scores = query @ key.swapaxes(-1, -2) * query.dtype.type(factor)
    if mask is not None:
        scores = scores + mask.astype(scores.dtype)
    if is_causal:
        scores = numpy.where(numpy.tri(*scores.shape[-2:], dtype=numpy.bool_), scores, -numpy.inf)
    return scores, factor


@rule("_scaled_dot_product_flash_attention_for_cpu", half="float32")
def attention(
    specs: Any, query: Any, key: Any, value: Any, dropout_p: float, is_causal: bool,
    attn_mask: Any, scale: float | None,
) -> Any:  # fmt: skip
    scores, _ = _scores(query, key, is_causal, attn_mask, scale)
    top = scores.max(-1, keepdims=True)
    safe = is_causal or attn_mask is not None
    base = numpy.where(numpy.isneginf(top), 0, top) if safe else top
    powers = numpy.exp(scores - base)
    total = powers.sum(-1, keepdims=True)
    logarithms = numpy.log(total) + base
    if safe:
        logarithms = numpy.where(total == 0, numpy.inf, logarithms)
        total = numpy.where(total == 0, 1, total)
    return [powers / total @ value, logarithms[..., 0]]


@rule("_scaled_dot_product_flash_attention_for_cpu_backward", half="float32")
def attention_backward(
    specs: Any, grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any,
    dropout_p: float, is_causal: bool, attn_mask: Any, scale: float | None,
) -> Any:  # fmt: skip
    scores, factor = _scores(query, key, is_causal, attn_mask, scale)
    shares = numpy.exp(scores - logsumexp[..., None])
    mean = (grad_out * out).sum(-1, keepdims=True)
    raw = shares * (grad_out @ value.swapaxes(-1, -2) - mean) * shares.dtype.type(factor)
    return [raw @ key, raw.swapaxes(-1, -2) @ query, shares.swapaxes(-1, -2) @ grad_out]
