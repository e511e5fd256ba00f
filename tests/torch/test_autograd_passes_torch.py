"""Batched gradients, hooks on several tensors, refusals: on PyTorch and, in both modes, here.

A scenario takes the library and yields what it observed; the reports must agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import thunk
from scenarios import Scenario, caught, leaf, observed
from thunk.lazy.eager import execution

SCENARIOS: list[Scenario] = []


def scenario(function: Scenario) -> Scenario:
    SCENARIOS.append(function)
    return function


@scenario
def batched_gradients(lib: Any) -> Iterator[Any]:
    x, y = leaf(lib, 1, 2), leaf(lib, 3, 4)
    grad, eye = lib.autograd.grad, lib.eye(2, dtype=lib.float64)
    yield grad(x**2, x, eye, is_grads_batched=True)
    yield grad([x**2, x * y], [x, y], [eye, 2 * eye], is_grads_batched=True)
    found = grad(x**2, [x, y], eye, is_grads_batched=True, allow_unused=True)
    yield found[0]
    yield found[1] is None
    kept = x**3
    grad(kept, x, eye, is_grads_batched=True, retain_graph=True)
    first = grad(kept, x, eye, is_grads_batched=True, create_graph=True)[0]
    yield first.requires_grad
    yield grad(first.sum(), x)
    done = x**3
    grad(done, x, eye, is_grads_batched=True)
    yield caught(lambda: done.sum().backward())


@scenario
def a_hook_on_several_tensors_waits_for_those_of_the_pass(lib: Any) -> Iterator[Any]:
    a, b = leaf(lib, 1, 2), leaf(lib, 3, 4)
    seen: list[Any] = []
    for _ in range(3):
        seen.clear()
        many = lib.autograd.graph.register_multi_grad_hook
        handle = many((a, b), lambda grads: seen.append([each is None for each in grads]))
        (a * b).sum().backward()
        a.exp().sum().backward()
        (a * b).sum().backward(inputs=[b])
        (b * 2).sum().backward()
        handle.remove()
        (a * b).sum().backward()
        yield list(seen)
        handle = many((a, b), seen.append, mode="any")
        (a * b).sum().backward()
        a.exp().sum().backward()
        handle.remove()
        yield seen[-2:]
        middle = a * 2
        last = middle * b
        many((middle, last), seen.append)
        last.sum().backward()
        yield seen[-1]
        yield a.grad, b.grad


@scenario
def layers_around_a_checkpoint(lib: Any) -> Iterator[Any]:
    """What was called before a block of hooks is none of their business, whenever it runs."""
    nn, checkpoint = lib.nn, lib.utils.checkpoint.checkpoint
    lib.manual_seed(0)
    first, last = nn.Linear(3, 3).double(), nn.Linear(3, 1).double()
    inner = nn.Sequential(nn.Linear(3, 3), nn.Tanh()).double()
    optimizer = lib.optim.SGD([*first.parameters(), *inner.parameters()], lr=0.1)
    x = leaf(lib, 1, 2, 3).reshape(1, 3)
    for step in range(6):
        hidden = checkpoint(inner, first(x).sin().exp(), use_reentrant=step % 2 == 0)
        loss = last(hidden).square().mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=step % 3 == 0)
        optimizer.step()
        yield loss
        yield [each.grad for each in inner.parameters()]


@scenario
def hooks_see_what_is_saved_inside_their_block(lib: Any) -> Iterator[Any]:
    for _ in range(2):
        packed: list[Any] = []

        def pack(value: Any, packed: list[Any] = packed) -> Any:
            packed.append(tuple(value.shape))
            return value * 2

        x = leaf(lib, 1, 2)
        before = x.exp().sin()
        with lib.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
            inside = before.exp()
            yield inside
        after = inside.exp()
        after.sum().backward()
        yield packed, x.grad


@scenario
def operators_without_a_formula(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    yield caught(lambda: lib.special.zeta(x + 1, x + 1).sum().backward())
    yield caught(lambda: lib.igamma(x, x).sum().backward())


@scenario
def overwritten_values(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    result = (x * 1).exp()
    result.add_(1)
    operand = x * 1
    product = operand * operand
    operand.add_(1)
    for each in (result, product):
        with pytest.raises(RuntimeError) as caught:
            each.sum().backward()
        words = str(caught.value).split(":")[0], "[2]], which" in str(caught.value).lower()
        yield words


@scenario
def what_anomaly_detection_looks_for(lib: Any) -> Iterator[Any]:
    yield lib.is_anomaly_enabled(), lib.is_anomaly_check_nan_enabled()
    with lib.autograd.set_detect_anomaly(True, check_nan=False):
        yield lib.is_anomaly_enabled(), lib.is_anomaly_check_nan_enabled()


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("function", SCENARIOS, ids=lambda f: f.__name__)
def test_scenario(function: Scenario, lazy: bool) -> None:
    with execution(lazy=lazy):
        ours = observed(function, thunk)
    assert ours == observed(function, torch)
