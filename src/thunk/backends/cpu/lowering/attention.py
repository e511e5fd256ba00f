"""Attention by blocks of queries and its gradient: one library call each."""

from __future__ import annotations

from math import sqrt
from typing import Any

from thunk.backends.cpu.calls.attention import Attention, AttentionCall
from thunk.backends.cpu.calls.layout import Layout, plain
from thunk.backends.cpu.lowering.blocked import add_call, layout_of
from thunk.backends.cpu.runner import threads
from thunk.compiler.access import Access
from thunk.compiler.lowering import At, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types.dtype import float32
from thunk.types.spec import contiguous_strides

Placed = tuple[Layout, Access]


def _dense(at: At, value: Value) -> Placed:
    """A value with its features side by side; copied if they are not."""
    spec = value.spec
    if spec.dtype is not float32 or 0 in spec.shape:
        raise Unsupported("attention of other types, or of nothing")
    if spec.strides[-1] == 1:
        return layout_of(spec), at.lower.window(value)
    domain = at.over(spec.shape)
    access = next(iter(domain.named(domain.read(value), spec.dtype).reads))
    strides = contiguous_strides(spec.shape)
    return plain(spec.shape, spec.dtype, strides), Access(access.buffer, spec.dtype, strides)


def _call(
    at: At, operands: dict[str, Value], results: dict[str, Value], causal: bool,
    scale: float | None,
) -> None:  # fmt: skip
    """The call with these operands and results, by the names that it gives them."""
    placed = {name: _dense(at, value) for name, value in operands.items()}
    placed |= {
        name: (layout_of(value.spec), at.lower.window(value)) for name, value in results.items()
    }
    layouts = {name: layout for name, (layout, _) in placed.items()}
    gradients = None
    if "grad_out" in layouts:
        gradients = (
            layouts["grad_out"], layouts["grad_query"], layouts["grad_key"], layouts["grad_value"]
        )  # fmt: skip
    spec = Attention(
        layouts["query"], layouts["key"], layouts["value"], layouts["out"], layouts.get("mask"),
        1 / sqrt(layouts["query"].shape[-1]) if scale is None else scale, causal,
        gradients, threads().count,
    )  # fmt: skip
    add_call(at, AttentionCall(spec), {name: place for name, (_, place) in placed.items()})


@lowering("_scaled_dot_product_flash_attention_for_cpu")
def attention(
    at: At, query: Value, key: Value, value: Value, dropout_p: float, is_causal: bool,
    attn_mask: Value | None, scale: float | None,
) -> None:  # fmt: skip
    operands = {"query": query, "key": key, "value": value}
    if attn_mask is not None:
        operands["mask"] = attn_mask
    out, logarithms = at.node.outputs
    _call(at, operands, {"out": out, "logarithms": logarithms}, is_causal, scale)


@lowering("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(
    at: At, grad_out: Value, query: Value, key: Value, value: Value, out: Value, logsumexp: Value,
    dropout_p: float, is_causal: bool, attn_mask: Value | None, scale: float | None,
) -> None:  # fmt: skip
    operands: dict[str, Any] = {
        "query": query, "key": key, "value": value, "out": out, "logarithms": logsumexp,
        "grad_out": grad_out,
    }  # fmt: skip
    if attn_mask is not None:
        operands["mask"] = attn_mask
    names = ("grad_query", "grad_key", "grad_value")
    _call(at, operands, dict(zip(names, at.node.outputs)), is_causal, scale)
