"""Attention as one operator, which a backend computes by blocks of queries, and its gradient.

Enters: queries, keys and values (samples, heads, length, features), a mask to add. Leaves: mixed
values and the logarithms of the sums, from which the gradient computes the shares again.
Invariant: a query that may attend to nothing gets zeros; the result lies in memory as the queries
do, so that heads that were split without a copy are merged without one.
"""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import expected
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.ops.rules.spatial import plain_spec
from thunk.types.dtype import bool_, float32
from thunk.types.spec import TensorSpec

LONG = 512  # queries; below, the scores of a whole batch stay in the caches anyway


def by_blocks(query: Any, key: Any, value: Any, mask: Any, dropout_p: float) -> bool:
    """Whether an attention is one that pays to be computed by blocks."""
    specs = [each._spec for each in (query, key, value)]
    return (
        dropout_p == 0
        and all(spec.ndim == 4 and spec.dtype is float32 for spec in specs)
        and len({spec.shape[:2] for spec in specs}) == 1
        and specs[1].shape[-2] == specs[2].shape[-2]
        and specs[0].shape[-1] == specs[1].shape[-1]
        and specs[0].shape[-2] >= LONG
        and all(spec.numel for spec in specs)
        and (mask is None or not mask.requires_grad)
    )


def _spec(
    query: TensorSpec, key: TensorSpec, value: TensorSpec, dropout_p: float, is_causal: bool,
    attn_mask: TensorSpec | None, scale: float | None,
) -> tuple[TensorSpec, TensorSpec]:  # fmt: skip
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise expected(
            "query, key and value of 4 dimensions", [query.ndim, key.ndim, value.ndim]
        )
    samples, heads, length, features = query.shape
    keys, width = value.shape[-2:]
    if key.shape != (samples, heads, keys, features) or value.shape[:2] != (samples, heads):
        raise expected(
            f"key and value beside queries of {list(query.shape)}",
            f"{list(key.shape)} and {list(value.shape)}",
        )
    if dropout_p:
        raise expected("dropout_p=0", dropout_p, "use scaled_dot_product_attention")
    same = _like(query)
    out = same if width == features else plain_spec(query, (samples, heads, length, width))
    return out, plain_spec(query, (samples, heads, length))


def _like(spec: TensorSpec) -> TensorSpec:
    """A new tensor in the memory order of another, if that keeps features side by side."""
    fresh = spec.fresh()
    return fresh if fresh.strides[-1] == 1 else plain_spec(spec, spec.shape)


def _gradient(
    grad: Any, query: Any, key: Any, value: Any, result0: Any, result1: Any, dropout_p: Any,
    is_causal: Any, attn_mask: Any, scale: Any,
) -> Any:  # fmt: skip
    return t._scaled_dot_product_flash_attention_for_cpu_backward(
        grad, query, key, value, result0, result1, dropout_p, is_causal,
        attn_mask=attn_mask, scale=scale,
    )  # fmt: skip


declare(
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, "
    "float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None)"
    " -> (Tensor output, Tensor logsumexp)",
    doc="Attention by blocks of queries; also returns the logarithms of the sums of the shares.",
    spec=_spec,
    vjp={("query", "key", "value"): _gradient},
    variants="function",
    static="dropout_p scale",
    constants="1",
)


def _backward_spec(
    grad_out: TensorSpec, query: TensorSpec, key: TensorSpec, value: TensorSpec, out: TensorSpec,
    logsumexp: TensorSpec, dropout_p: float, is_causal: bool, attn_mask: TensorSpec | None,
    scale: float | None,
) -> tuple[TensorSpec, ...]:  # fmt: skip
    if grad_out.shape != out.shape:
        raise expected(f"grad_out of shape {list(out.shape)}", list(grad_out.shape))
    return _like(query), _like(key), _like(value)


def _shares(query: Any, key: Any, is_causal: bool, attn_mask: Any, scale: float) -> Any:
    """The softmax of all scores at once."""
    scores = t.matmul(query, t.transpose(key, -2, -1)) * scale
    if attn_mask is not None:
        scores = scores + attn_mask
    if is_causal:
        before = t.tril(t.ones(scores._spec.shape[-2:], dtype=bool_, device=scores._spec.device))
        scores = t.masked_fill(scores, t.logical_not(before), float("-inf"))
    return t._safe_softmax(scores, -1)


def _second(
    grads: Any, grad_out: Any, query: Any, key: Any, value: Any, is_causal: Any, attn_mask: Any,
    scale: Any,
) -> Any:  # fmt: skip
    """The gradients of the first gradients, from whole matrices of scores."""
    factor = scale_of(query, scale)
    to_query, to_key, to_value = grads
    shares = _shares(query, key, is_causal, attn_mask, factor)
    changes = t.matmul(grad_out, t.transpose(value, -2, -1))
    mean = t.sum(shares * changes, -1, keepdim=True)
    raw = shares * (changes - mean) * factor
    weights = t.zeros_like(shares)
    for_query, for_key = t.zeros_like(query), t.zeros_like(key)
    if to_query is not None:
        weights = weights + t.matmul(to_query, t.transpose(key, -2, -1))
        for_key = for_key + t.matmul(t.transpose(raw, -2, -1), to_query)
    if to_key is not None:
        weights = weights + t.matmul(query, t.transpose(to_key, -2, -1))
        for_query = for_query + t.matmul(raw, to_key)
    middle = t.sum(shares * weights, -1, keepdim=True)
    for_changes = shares * (weights - middle) * factor
    for_shares = (changes * weights - changes * middle - mean * weights) * factor
    for_grad = t.matmul(for_changes, value)
    for_value = t.matmul(t.transpose(for_changes, -2, -1), grad_out)
    if to_value is not None:
        for_shares = for_shares + t.matmul(grad_out, t.transpose(to_value, -2, -1))
        for_grad = for_grad + t.matmul(shares, to_value)
    scores = shares * (for_shares - t.sum(shares * for_shares, -1, keepdim=True)) * factor
    for_query = for_query + t.matmul(scores, key)
    for_key = for_key + t.matmul(t.transpose(scores, -2, -1), query)
    return for_grad, for_query, for_key, for_value, None, None


def scale_of(query: Any, scale: float | None) -> float:
    """The factor of the scores; by default one over the root of the number of features."""
    return 1 / math.sqrt(max(query._spec.shape[-1], 1)) if scale is None else scale


declare(
    "_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, "
    "Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, "
    "Tensor? attn_mask=None, float? scale=None)"
    " -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
    doc="The gradients of attention by blocks for query, key and value.",
    spec=_backward_spec,
    vjp={("grad_out", "query", "key", "value", "out", "logsumexp"): _second},
    variants="function",
    static="dropout_p scale",
)
