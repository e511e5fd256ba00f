"""Nothing grows without bound: not memory, not caches, not the time or depth of long chains."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest
from tests.torch.lazy.costs import batches, counted, lazily, perceptron, train

import thunk
from thunk import optim


@pytest.fixture(autouse=True)
def lazy_execution() -> Any:
    with lazily():
        yield


def growth(work: Any, first: int, second: int) -> int:
    """Bytes that Python and NumPy hold more after `second` rounds than after `first`."""
    tracemalloc.start()
    try:
        held = []
        done = 0
        for target in (first, second):
            while done < target:
                work(done)
                done += 1
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
        return held[1] - held[0]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_steps_hold_no_memory() -> None:
    model = perceptron(dropout=0.5)
    optimizer = optim.Adam(model.parameters())
    pairs = batches(8)
    assert growth(lambda step: train(model, optimizer, [pairs[step % 8]]), 150, 600) < 100_000


@pytest.mark.slow
def test_a_chain_of_a_hundred_thousand_operations() -> None:
    start = thunk.zeros(2)
    x = start
    for _ in range(100_000):
        x = x + 1
    assert x.tolist() == [100_000.0, 100_000.0]


def test_a_deep_chain_is_differentiated() -> None:
    start = thunk.zeros(2, requires_grad=True)
    x = start
    for _ in range(5_000):
        x = x + 0.5
    x.sum().backward()
    assert start.grad is not None and start.grad.tolist() == [1.0, 1.0]


def test_sixty_stacked_diamonds() -> None:
    """Each value used twice: work must grow with operations, not with paths."""
    start = thunk.ones(1, dtype=thunk.float64, requires_grad=True)
    x = start
    for _ in range(60):
        x = x * 0.5 + x * 0.5
    x.sum().backward()
    assert x.item() == 1.0 and start.grad is not None and start.grad.item() == 1.0


@pytest.mark.parametrize("size", [0, 2])
def test_caches_of_any_size_give_the_same_results(size: int) -> None:
    with thunk.base.config.config.override(lazy_compilation_cache_size=size):
        for k in (1.0, 2.0, 3.0):
            for width in (2, 3, 4):
                assert (thunk.ones(width) * k).tolist() == [k] * width


def test_without_reuse_nothing_is_found_again() -> None:
    thunk.lazy.config.set_reuse_ir(False)
    try:
        with counted() as costs:
            for _ in range(3):
                (thunk.ones(7) * 3 + 2).tolist()
        assert costs.runs == 3
    finally:
        thunk.lazy.config.set_reuse_ir(True)


@pytest.mark.slow
def test_iterations_that_nobody_reads_hold_no_memory() -> None:
    x = thunk.ones(1000)

    def work(step: int) -> None:
        nonlocal x
        x = x * 1.0001 + 0.5

    # Two walks of 4096 operators make the path and its program; from then on nothing is new.
    assert growth(work, 5000, 11_000) < 1_000_000
