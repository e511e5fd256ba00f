"""Lowerings of attention by blocks and its gradient against the reference rules."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import thunk
from graphs import Recorder, agree
from thunk.autograd import gradcheck, gradgradcheck

random = numpy.random.default_rng(4)
FORWARD = "_scaled_dot_product_flash_attention_for_cpu"
BACKWARD = f"{FORWARD}_backward"


def normal(*shape: int) -> numpy.ndarray:
    return random.normal(size=shape).astype("f4")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("merged", [False, True])
def test_values_and_gradients(causal: bool, masked: bool, merged: bool) -> None:
    recorder = Recorder()
    samples, heads, length, keys, features = 2, 3, 140, 90, 8
    strides = (length * heads * features, features, heads * features, 1)
    query = recorder.input(normal(samples, heads, length, features), strides if merged else None)
    key, value = (recorder.input(normal(samples, heads, keys, features)) for _ in range(2))
    mask = recorder.input(normal(length, keys)) if masked else None
    out, logarithms = recorder.call(FORWARD, query, key, value, 0.0, causal, mask, 0.4)
    assert out.spec.strides == query.spec.strides
    grad = recorder.input(normal(*out.spec.shape))
    rest = (0.0, causal, mask, 0.4)
    gradients = recorder.call(BACKWARD, grad, query, key, value, out, logarithms, *rest)
    recorder.outputs(out, *gradients)
    program = agree(recorder, 5e-5)
    assert not program.schedule.fallbacks


def test_features_that_lie_apart_are_copied() -> None:
    recorder = Recorder()
    turned = recorder.input(normal(1, 2, 20, 4), (160, 80, 1, 20))
    other = recorder.input(normal(1, 2, 20, 4))
    out, _ = recorder.call(FORWARD, other, turned, turned)
    recorder.outputs(out)
    assert not agree(recorder, 5e-5).schedule.fallbacks


def attend(causal: bool, mask: Any) -> Any:
    operator = getattr(thunk.ops.aten, FORWARD)
    return lambda *operands: operator(*operands, 0.0, causal, attn_mask=mask, scale=0.7)[0]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_gradients_of_both_orders(causal: bool, masked: bool) -> None:
    def point(*shape: int) -> Any:
        values = random.normal(size=shape)
        return thunk.tensor(values, dtype=thunk.float64, requires_grad=True)

    operands = (point(1, 2, 3, 2), point(1, 2, 4, 2), point(1, 2, 4, 3))
    mask = thunk.tensor(random.normal(size=(3, 4))) if masked else None
    assert gradcheck(attend(causal, mask), operands)
    assert gradgradcheck(attend(causal, mask), operands)


def test_long_sequences_go_by_blocks() -> None:
    """And give what short ones give: whole matrices of scores."""
    query = thunk.tensor(normal(1, 2, 512, 4), requires_grad=True)
    attention = thunk.nn.functional.scaled_dot_product_attention
    whole = thunk.softmax(query @ query.mT / 2, -1) @ query
    found = attention(query, query, query)
    assert "Flash" in type(found.grad_fn).__name__ or "flash" in str(found.grad_fn).lower()
    assert thunk.allclose(found, whole, atol=1e-5)
    parts = [thunk.autograd.grad((each * each).sum(), query)[0] for each in (found, whole)]
    assert thunk.allclose(*parts, atol=1e-4)


def test_a_mask_that_learns_goes_by_whole_matrices() -> None:
    query = thunk.tensor(normal(1, 1, 512, 2))
    mask = thunk.zeros(512, 512, requires_grad=True)
    attention = thunk.nn.functional.scaled_dot_product_attention
    attention(query, query, query, attn_mask=mask).sum().backward()
    assert mask.grad is not None and mask.grad.shape == (512, 512)
