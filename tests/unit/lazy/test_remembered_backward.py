"""A backward pass is remembered over a cut, with all that changes what it means.

Every scenario runs on one trie with all others, in rounds that take turns between ways; what it
finds must be what eager runs find, whichever way was walked before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import thunk
from thunk.lazy import metrics
from thunk.lazy.eager import execution
from thunk.lazy.run import inflight
from thunk.lazy.trace import traces

ROUNDS = 6
Scenario = Callable[[Any, Any, int], Any]
SCENARIOS: dict[str, Scenario] = {}


@pytest.fixture(autouse=True)
def settled() -> Iterator[None]:
    yield
    traces.current.materialise()
    inflight.wait()


def scenario(run: Scenario) -> Scenario:
    SCENARIOS[run.__name__] = run
    return run


def loss_of(weight: Any, bias: Any, scale: float = 2.0) -> Any:
    hidden = thunk.tanh(weight * scale + bias)
    return (hidden * hidden * weight).sum()


def failure(action: Callable[[], Any]) -> str:
    try:
        action()
    except RuntimeError as error:
        return type(error).__name__
    return "none"


@scenario
def the_loss_is_read_in_every_other_round(weight: Any, bias: Any, number: int) -> Any:
    loss = loss_of(weight, bias)
    if number % 2:
        assert loss.item() != 0
    loss.backward()


@scenario
def the_loss_is_printed(weight: Any, bias: Any, number: int) -> Any:
    loss = loss_of(weight, bias)
    assert "grad_fn" in repr(loss)
    loss.backward()


@scenario
def the_graph_is_kept_and_used_again(weight: Any, bias: Any, number: int) -> Any:
    loss = loss_of(weight, bias)
    assert loss.item() != 0
    loss.backward(retain_graph=number % 2 == 0)
    return failure(loss.backward)


@scenario
def two_losses_of_one_graph_in_turn(weight: Any, bias: Any, number: int) -> Any:
    hidden = thunk.tanh(weight * bias)
    losses = [(hidden * weight).sum(), (hidden * bias).sum()]
    assert losses[0].item() != 0
    first, second = losses if number % 2 else losses[::-1]
    first.backward(retain_graph=number < 4)
    return failure(second.backward)


@scenario
def a_leaf_is_frozen_after_the_cut(weight: Any, bias: Any, number: int) -> Any:
    loss = loss_of(weight, bias)
    assert loss.item() != 0
    bias.requires_grad_(number % 2 == 0)
    loss.backward()
    bias.requires_grad_(True)


@scenario
def a_value_is_overwritten_after_the_cut(weight: Any, bias: Any, number: int) -> Any:
    loss = loss_of(weight, bias)
    assert loss.item() != 0
    if number % 2:
        with thunk.no_grad():
            weight.add_(1.0)
    return failure(loss.backward)


@scenario
def numbers_are_read_by_formulas(weight: Any, bias: Any, number: int) -> Any:
    loss = ((weight * (1.0 + number % 3)) ** (2.0 + number % 2)).sum() + bias.sum() * number
    assert loss.item() != 0
    loss.backward()


@scenario
def a_hook_sees_an_inner_gradient(weight: Any, bias: Any, number: int) -> Any:
    seen: list[float] = []
    hidden = weight * bias
    if number % 2:
        hidden.register_hook(lambda gradient: seen.extend(gradient.tolist()))
    loss = thunk.tanh(hidden).sum()
    assert loss.item() != 0
    if number == 3:
        loss.register_hook(lambda gradient: gradient * 3)
    loss.backward()
    return seen


@scenario
def a_hook_changes_the_gradient_of_a_leaf(weight: Any, bias: Any, number: int) -> Any:
    handle = weight.register_hook(lambda gradient: gradient * 2) if number % 2 else None
    loss = loss_of(weight, bias)
    assert loss.item() != 0
    loss.backward()
    if handle is not None:
        handle.remove()


@scenario
def the_gradient_has_a_graph(weight: Any, bias: Any, number: int) -> Any:
    loss = loss_of(weight, bias)
    assert loss.item() != 0
    if number % 2:
        (gradient,) = thunk.autograd.grad(loss, weight, create_graph=True)
        (gradient * gradient).sum().backward()
    else:
        loss.backward()


@scenario
def an_inner_result_lives_on(weight: Any, bias: Any, number: int) -> Any:
    hidden = thunk.tanh(weight * bias)
    loss = (hidden * hidden).sum()
    assert loss.item() != 0
    if number % 2:
        more = (hidden * 2).sum()
        loss.backward(retain_graph=True)
        more.backward()
    else:
        loss.backward()
        assert hidden.sum().item() != 0


@scenario
def a_leaf_was_met_before_the_pass(weight: Any, bias: Any, number: int) -> Any:
    loss = loss_of(weight, bias)
    assert loss.item() != 0
    other = (weight * 3).sum() if number % 2 else None
    loss.backward()
    if other is not None:
        other.backward()


@scenario
def the_pass_runs_in_other_modes(weight: Any, bias: Any, number: int) -> Any:
    loss = loss_of(weight, bias)
    assert loss.item() != 0
    with thunk.set_grad_enabled(number % 2 == 0):
        loss.backward()
    after = weight * 2
    assert after.requires_grad


@scenario
def losses_of_two_walks_meet(weight: Any, bias: Any, number: int) -> Any:
    first = loss_of(weight, bias)
    assert first.item() != 0
    loss = first * 2 + (weight.sum() if number % 2 else 1.0)
    assert loss.item() != 0
    loss.backward()


def run(name: str, lazily: bool, rounds: int = ROUNDS) -> list[Any]:
    with execution(lazily):
        weight = thunk.tensor([0.5, -1.0, 0.25], requires_grad=True)
        bias = thunk.tensor([1.0, 0.5, -0.5], requires_grad=True)
        found: list[Any] = []
        for number in range(rounds):
            if number % 3 == 0:
                weight.grad = bias.grad = None
            found.append(SCENARIOS[name](weight, bias, number))
            for each in (weight, bias):
                found += each.tolist()
                found += [] if each.grad is None else each.grad.tolist()
        return found


def flat(values: list[Any]) -> list[Any]:
    return [each for value in values for each in (value if isinstance(value, list) else [value])]


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_ways_find_what_eager_runs_find(name: str) -> None:
    expected = flat(run(name, False))
    for _ in range(2):  # on a cold trie and on a warm one
        found = flat(run(name, True))
        assert len(found) == len(expected)
        for mine, other in zip(found, expected, strict=True):
            assert mine == (pytest.approx(other, rel=1e-5) if isinstance(other, float) else other)


REMEMBERED = (
    "the_loss_is_read_in_every_other_round", "the_loss_is_printed", "an_inner_result_lives_on",
    "a_leaf_is_frozen_after_the_cut", "a_leaf_was_met_before_the_pass",
    "the_pass_runs_in_other_modes", "a_hook_changes_the_gradient_of_a_leaf",
)  # fmt: skip


@pytest.mark.parametrize("name", REMEMBERED)
def test_both_ways_are_remembered(name: str) -> None:
    run(name, True, 12)
    metrics.reset()
    run(name, True, 12)
    assert metrics.counter_value("BackwardRecorded") == 0
    assert metrics.counter_value("IrNodeCreated") == 0


def test_a_pass_after_a_cut_frees_what_only_it_reads() -> None:
    with execution(True):
        weight = thunk.tensor([0.5, -1.0], requires_grad=True)
        for retain in (True, False):
            for _ in range(2):  # recorded, and remembered
                loss = loss_of(weight, weight)
                assert loss.item() != 0
                segment = loss.grad_fn.segment
                kept = len(segment.residuals)
                loss.backward(retain_graph=retain)
                assert kept > 0
                assert len(segment.residuals) == (kept if retain else 0)
