"""Checkpointed calls and anomaly detection, run on PyTorch and on Thunk: the reports must agree."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import thunk
from scenarios import Scenario, caught, leaf, observed

SCENARIOS: list[Scenario] = []


def scenario(function: Scenario) -> Scenario:
    SCENARIOS.append(function)
    return function


def module_of(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.utils.checkpoint")


def ways(lib: Any) -> Iterator[Any]:
    """The two forms of a checkpointed call."""
    for reentrant in (False, True):
        yield lambda function, *args, reentrant=reentrant, **more: module_of(lib).checkpoint(
            function, *args, use_reentrant=reentrant, **more
        )


@scenario
def gradients_and_runs(lib: Any) -> Iterator[Any]:
    for checkpoint in ways(lib):
        runs = []

        def inside(x: Any, y: Any, runs: list[int] = runs) -> Any:
            runs.append(lib.is_grad_enabled())
            return (x * y).sin().exp()

        x, y = leaf(lib, 1, 2), leaf(lib, 3, 4)
        out = checkpoint(inside, x * 2, y)
        yield out, len(runs)
        (out * out).sum().backward()
        yield x.grad, y.grad, len(runs), runs[-1]


@scenario
def the_same_chance_twice(lib: Any) -> Iterator[Any]:
    for checkpoint in ways(lib):
        for preserve in (True, False):
            masks = []

            def inside(x: Any, masks: list[Any] = masks) -> Any:
                mask = lib.rand(8, dtype=lib.float64)
                masks.append(mask)
                return x * mask

            lib.manual_seed(5)
            x = lib.ones(8, dtype=lib.float64, requires_grad=True)
            out = checkpoint(inside, x, preserve_rng_state=preserve)
            lib.rand(3)
            out.sum().backward()
            yield x.grad, masks[0].tolist() == masks[-1].tolist(), len(masks)
            yield lib.rand(2)


@scenario
def values_that_are_no_tensors(lib: Any) -> Iterator[Any]:
    for checkpoint in ways(lib):
        x = leaf(lib, 2, 3)
        first, number, nothing = checkpoint(
            lambda x, power: (x**power, power, None), x, 3
        )
        yield first, number, nothing is None
        first.sum().backward()
        yield x.grad


@scenario
def keyword_arguments(lib: Any) -> Iterator[Any]:
    checkpoint, reentrant = ways(lib)
    x, y = leaf(lib, 2, 3), leaf(lib, 5, 7)
    checkpoint(lambda x, scale: x * x * scale, x, scale=y).sum().backward()
    yield x.grad, y.grad
    yield caught(lambda: reentrant(lambda x, scale: x * scale, x, scale=2))


@scenario
def weights_of_a_module(lib: Any) -> Iterator[Any]:
    for checkpoint in ways(lib):
        lib.manual_seed(0)
        layer = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 1))
        x = lib.ones(2, 3, requires_grad=True)
        checkpoint(layer, x).sum().backward()
        for parameter in layer.parameters():
            yield [f"{each:.4g}" for each in parameter.grad.flatten().tolist()]


@scenario
def a_chain_in_segments(lib: Any) -> Iterator[Any]:
    for reentrant in (False, True):
        runs: list[int] = []

        def step(number: int, runs: list[int] = runs) -> Any:
            def run(value: Any) -> Any:
                runs.append(number)
                return (value * number).sin()

            return run

        x = leaf(lib, 1, 2)
        steps = [step(number) for number in range(1, 6)]
        module_of(lib).checkpoint_sequential(steps, 2, x, use_reentrant=reentrant).sum().backward()
        yield x.grad, runs


@scenario
def one_inside_another(lib: Any) -> Iterator[Any]:
    checkpoint = next(iter(ways(lib)))

    def inner(x: Any) -> Any:
        return (x * x).sin()

    def outer(x: Any) -> Any:
        return checkpoint(inner, x.exp()) * x

    x = leaf(lib, 0.5, 1)
    checkpoint(outer, x).sum().backward()
    yield x.grad


@scenario
def a_second_gradient(lib: Any) -> Iterator[Any]:
    checkpoint = next(iter(ways(lib)))
    x = leaf(lib, 0.5, 1)
    out = checkpoint(lambda x: (x.sin() * x).exp(), x)
    (first,) = lib.autograd.grad(out.sum(), x, create_graph=True)
    yield first
    yield lib.autograd.grad(first.sum(), x)


@scenario
def backward_twice(lib: Any) -> Iterator[Any]:
    checkpoint = next(iter(ways(lib)))
    x = leaf(lib, 0.5, 1)
    out = checkpoint(lambda x: (x * x).sin(), x).sum()
    out.backward(retain_graph=True)
    out.backward()
    yield x.grad
    yield caught(out.backward)


@scenario
def another_computation_the_second_time(lib: Any) -> Iterator[Any]:
    checkpoint = next(iter(ways(lib)))
    runs: list[int] = []

    def inside(x: Any) -> Any:
        runs.append(1)
        return (x * x).sum() if len(runs) == 1 else x.sum()

    out = checkpoint(inside, leaf(lib, 1, 2))
    yield caught(lambda: out.backward())
    runs.clear()

    def wider(x: Any) -> Any:
        runs.append(1)
        return (x.repeat(len(runs)) ** 2).sum()

    out = checkpoint(wider, leaf(lib, 1, 2))
    yield caught(lambda: out.backward())


@scenario
def inputs_without_gradients(lib: Any) -> Iterator[Any]:
    for checkpoint in ways(lib):
        weight = leaf(lib, 2, 3)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            out = checkpoint(lambda x, w=weight: x * w, lib.ones(2, dtype=lib.float64))
        yield out.requires_grad, any("requires_grad=True" in str(each.message) for each in told)


@scenario
def nothing_is_kept_without_gradients(lib: Any) -> Iterator[Any]:
    for checkpoint in ways(lib):
        with lib.no_grad():
            out = checkpoint(lambda x: x * 2, leaf(lib, 1))
        yield out.requires_grad, out


@scenario
def contexts_of_the_two_runs(lib: Any) -> Iterator[Any]:
    checkpoint = next(iter(ways(lib)))
    seen: list[str] = []

    class Said:
        def __init__(self, word: str) -> None:
            self.word = word

        def __enter__(self) -> None:
            seen.append(f"{self.word} begins")

        def __exit__(self, *error: object) -> None:
            seen.append(f"{self.word} ends")

    x = leaf(lib, 1)
    out = checkpoint(lambda x: x.exp().sin(), x, context_fn=lambda: (Said("one"), Said("two")))
    out.sum().backward()
    yield seen, x.grad


@scenario
def anomaly_names_the_forward_line(lib: Any) -> Iterator[Any]:
    """The user's line that computed the culprit: torch warns of it, the error here has it."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with lib.autograd.detect_anomaly():
            x = leaf(lib, 0.0)
            y = x.sqrt() * 0  # the culprit
            with pytest.raises(RuntimeError, match=r"SqrtBackward0.*nan") as raised:
                y.sum().backward()
            (x * 3).sum().backward()
    notes = getattr(raised.value, "__notes__", [])
    yield "# the culprit" in "".join([*notes, *(str(each.message) for each in told)]), x.grad


@pytest.mark.parametrize("function", SCENARIOS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore")
def test_scenario(function: Scenario) -> None:
    expected = observed(function, torch)
    assert len(expected) > 0
    assert observed(function, thunk) == expected
