"""Indices that differ from step to step: the same values as everywhere, and no new programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import torch
from tests.torch.lazy.costs import counted, lazily

import thunk
from scenarios import observed
from thunk.lazy.eager import execution

SCENARIOS: dict[str, Callable[[Any], Iterator[Any]]] = {}


def scenario(function: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    SCENARIOS[function.__name__] = function
    return function


def data(lib: Any) -> Any:
    return lib.arange(60.0).reshape(12, 5)


@scenario
def slices_of_rows(lib: Any) -> Iterator[Any]:
    x = data(lib)
    for start in range(0, 12, 3):
        yield x[start : start + 3] * 2


@scenario
def windows_of_columns(lib: Any) -> Iterator[Any]:
    x = data(lib)
    for start in range(4):
        window = x[:, start : start + 2]
        yield window + 1, window.t().sum(0), window.stride(), window.storage_offset()


@scenario
def views_of_windows(lib: Any) -> Iterator[Any]:
    x = data(lib)
    for start in (0, 4, 8, 2):
        window = x[start : start + 4]
        part = window[1:3].reshape(-1).view(5, 2)[1]
        yield part * 3, part.storage_offset(), window.view(-1, 2).t(), window.unbind(0)[1]


@scenario
def windows_that_backward_reads_after_a_cut(lib: Any) -> Iterator[Any]:
    x = data(lib)
    weight = (lib.arange(15.0) - 7).reshape(5, 3).requires_grad_()  # all sums are exact
    for start in (0, 4, 8, 2, 6):
        window = x[start : start + 4]
        part = window.view(2, 2, 5)[1]
        loss = (window.view(-1, 5) @ weight).relu().sum() + (part @ weight).abs().sum() * 2
        yield loss  # read, so that the gradient is of a program of its own
        weight.grad = None
        loss.backward()
        yield weight.grad


@scenario
def writes_through_windows(lib: Any) -> Iterator[Any]:
    x = data(lib)
    for start in (1, 5, 9):
        window = x[start : start + 2]
        kept = window * 1
        window.mul_(10)
        window[0, 1:3] += 7
        yield window, kept, x[start], x._version
    yield x


@scenario
def windows_see_later_writes(lib: Any) -> Iterator[Any]:
    x = data(lib)
    for start in (1, 5, 9):
        window = x[start : start + 2]
        before = window.sum()
        x.add_(1)
        after = window.sum()
        x[start] = 0
        yield before, after, window, window + x[start : start + 2]


@scenario
def writes_at_places(lib: Any) -> Iterator[Any]:
    x, pending = data(lib), lib.ones(5) * 3
    for place in range(4):
        x[place] = pending + place
        x[place, 2] = 50.0
        pending = pending * 2
    yield x


@scenario
def places_that_are_tensors(lib: Any) -> Iterator[Any]:
    x, places = data(lib), lib.tensor([3, 0, 7])
    for _ in range(3):
        yield lib.stack([x[i : i + 2] for i in places])
        yield lib.stack([x[i + 1] for i in places]), x[places[1]]
        yield x[places[0], places[1] : places[1] + 2]
        places = places + 1


@scenario
def windows_that_want_gradients(lib: Any) -> Iterator[Any]:
    x, weight = data(lib), lib.ones(5, 2, requires_grad=True)
    for start in range(0, 12, 4):
        window = x[start : start + 4]
        (window @ weight).square().sum().backward()
        yield weight.grad
        own = x[start].clone().requires_grad_()
        (own * x[start + 1]).sum().backward()
        yield own.grad
        part = x[start : start + 2].requires_grad_()
        (part * part[1]).sum().backward()
        yield part.grad


@scenario
def rows_of_a_weight(lib: Any) -> Iterator[Any]:
    weight = data(lib).requires_grad_()
    for place in (2, 5, 2):
        (weight[place] * weight[place + 1 : place + 3]).sum().backward()
    yield weight.grad


@scenario
def shared_memory(lib: Any) -> Iterator[Any]:
    array = numpy.arange(24.0).reshape(6, 4)
    x = lib.from_numpy(array)
    for start in range(0, 6, 2):
        window = x[start : start + 2]
        doubled = window * 2
        array[start] = -1
        window[1, 0] += 100
        yield doubled, window, window.t()[1:], array[start].tolist(), x.sum()


@scenario
def placed_windows_of_windows(lib: Any) -> Iterator[Any]:
    x = data(lib)
    for start in (5, 10, 15):
        window = x.view(-1)[start : start + 8]
        placed = window.as_strided((2, 2), (3, 1), 2)
        yield placed, lib.as_strided(window, (3,), (2,)), window.data + 1
        placed.add_(1)
        yield window, x.view(-1)[:6]
        yield window.as_strided_scatter(lib.zeros(2), (2,), (1,), start)


@scenario
def shrinking_windows(lib: Any) -> Iterator[Any]:
    x = data(lib)
    while x.shape[0] > 2:
        x = x[1:]
        yield x[0] * 2, x.narrow(0, 1, 1), x.select(1, x.shape[0] % 5)


@pytest.mark.parametrize("name", SCENARIOS)
def test_values_are_those_of_pytorch(name: str) -> None:
    function = SCENARIOS[name]
    expected = observed(function, torch)
    assert "raises" not in str(expected), expected
    with execution(lazy=False):
        assert observed(function, thunk) == expected
    for backend in ("reference", "cpu"):
        with lazily(backend):
            for _ in range(3):  # each run finds the paths of those before it
                assert observed(function, thunk) == expected


def step(x: Any, weight: Any) -> Any:
    return (x @ weight).tanh().sum().item()


def test_batches_cut_from_one_tensor_are_one_program() -> None:
    with lazily():
        x, weight = thunk.randn(640, 5), thunk.randn(5, 2)
        costs = []
        for start in range(0, 640, 64):
            with counted() as cost:
                step(x[start : start + 64], weight)
            costs.append(cost.new)
        assert sum(costs) <= 3 and not any(costs[3:])


def test_batches_of_shared_memory_are_one_program_and_copy_no_more_than_they_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with lazily():
        x = thunk.from_numpy(numpy.random.default_rng(0).random((640, 5), numpy.float32))
        weight = thunk.randn(5, 2)

        def refuse(storage: Any) -> Any:
            raise AssertionError("the whole of shared memory was copied for a part of it")

        costs = []
        for start in range(0, 640, 64):
            with counted() as cost, monkeypatch.context() as patch:
                window = x[start : start + 64]
                patch.setattr(type(x._storage), "snapshot", lambda storage: (
                    refuse(storage) if storage is x._storage else storage.memory
                ))  # fmt: skip
                step(window, weight)
            costs.append(cost.new)
        assert sum(costs) == 1


def test_sequences_at_random_places_are_one_program() -> None:
    with lazily():
        text, table = thunk.randint(0, 9, (500,)), thunk.randn(9, 4)
        for _ in range(2):
            thunk.stack([text[i : i + 20] for i in thunk.randint(0, 480, (6,))]).tolist()
        new = []
        for _ in range(6):
            with counted() as cost:
                rows = thunk.stack([text[i : i + 20] for i in thunk.randint(0, 480, (6,))])
                table[rows].sum().item()
            new.append(cost.new)
        assert new[2:] == [0, 0, 0, 0]


def test_a_write_at_a_place_that_varies_makes_no_new_programs() -> None:
    with lazily():
        buffer, x = thunk.zeros(40, 3), thunk.ones(3)
        new = []
        for place in range(40):
            with counted() as cost:
                y = (x * 2).exp()
                buffer[place] = y
                y.sum().item()
            new.append(cost.new)
        assert not any(new[4:])
        assert buffer.sum().item() == pytest.approx(120 * numpy.exp(2.0))
