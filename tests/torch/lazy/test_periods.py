"""Loops that nobody reads are cut where they repeat, always at the same place."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.torch.lazy.costs import counted, lazily, perceptron

import thunk
from thunk import nn


@pytest.fixture(autouse=True)
def lazy_execution() -> Any:
    with lazily():
        thunk.lazy.ir_cache.reset()
        yield


def one(lib: Any, x: Any) -> Any:
    return x * 1.001


def three(lib: Any, x: Any) -> Any:
    return (x + 0.01).sin().abs()


def seven(lib: Any, x: Any) -> Any:
    y = lib.tanh(x * 0.5) + 0.25
    return y / (y.abs() + 1.0) - x * 0.01


@pytest.mark.parametrize("body", [one, three, seven])
def test_a_loop_is_two_programs_however_long_it_runs(body: Any) -> None:
    found = []
    for lib in (torch, thunk):
        x = lib.linspace(0.1, 1.0, 5, dtype=lib.float64)
        with counted() as costs:
            for _ in range(1500):
                x = body(lib, x)
        with thunk.lazy.forbid_compile():
            for _ in range(1500):
                x = body(lib, x)
        found.append(x)
    assert costs.new == 2 and costs.misses < 600
    assert thunk.allclose(found[1], thunk.from_numpy(found[0].numpy()), rtol=1e-12)


def test_predictions_that_nobody_reads_run_as_they_come() -> None:
    model, predictions = perceptron().eval(), []
    batches = [thunk.randn(4, 6) for _ in range(300)]
    with counted() as costs, thunk.no_grad():
        for batch in batches:
            predictions.append(model(batch).argmax(1))
    assert costs.new <= 3 and costs.runs > 10
    assert predictions[-1].tolist() == model(batches[-1]).argmax(1).tolist()


def test_equal_layers_are_no_loop() -> None:
    model = nn.Sequential(*[nn.Linear(6, 6) for _ in range(100)]).eval()
    x = thunk.randn(2, 6)
    thunk.lazy.mark_step(wait=True)
    with counted() as costs, thunk.no_grad():
        model(x).tolist()
    assert costs.runs == 1


def test_a_loop_that_is_differentiated_is_not_cut_where_it_repeats() -> None:
    weight = thunk.ones(3, requires_grad=True)
    thunk.lazy.mark_step(wait=True)
    state = weight
    with counted() as costs:
        for _ in range(200):
            state = (state * weight).tanh() + 0.1
        state.sum().backward()
        assert weight.grad is not None
        weight.grad.tolist()
    assert costs.runs == 1


def test_the_account_says_that_the_path_repeats() -> None:
    x = thunk.ones(3)
    with thunk.lazy.explain() as account:
        for _ in range(300):
            x = seven(thunk, x)
    assert {each.cause for each in account.executions} == {"the path repeats"}
