"""Training reaches a state in which nothing is recorded, compiled or kept any more."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import thunk
from thunk import lazy
from thunk.lazy import metrics
from thunk.lazy.eager import execution
from thunk.lazy.run import inflight
from thunk.lazy.trace import traces

MISSES = ("TraceMiss", "UncachedCompile", "IrNodeCreated", "BackwardRecorded", "UpdateRecorded")


@pytest.fixture(autouse=True)
def lazily() -> Iterator[None]:
    with execution(True):
        traces.current.materialise()
        metrics.reset()
        yield
        traces.current.materialise()
    inflight.wait()


def training(make: Callable[..., Any], **options: Any) -> Callable[[int, float], Any]:
    net = thunk.nn.Sequential(
        thunk.nn.Linear(12, 16), thunk.nn.ReLU(), thunk.nn.Dropout(0.25), thunk.nn.Linear(16, 3)
    )
    optimizer = make(net.parameters(), **options)
    x, y = thunk.randn(8, 12), thunk.randint(0, 3, (8,))

    def step(rows: int, rate: float) -> Any:
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss = thunk.nn.functional.cross_entropy(net(x[:rows]), y[:rows])
        loss.backward()
        optimizer.step()
        return loss

    return step


OPTIMIZERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "SGD": (thunk.optim.SGD, {}),
    "Momentum": (thunk.optim.SGD, {"momentum": 0.9}),
    "Adam": (thunk.optim.Adam, {}),
    "AdamW": (thunk.optim.AdamW, {}),
    "Adadelta": (thunk.optim.Adadelta, {}),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_two_compiles_and_then_none(name: str) -> None:
    make, options = OPTIMIZERS[name]
    step = training(make, **options)
    metrics.reset()
    for index in range(4):
        step(8, 0.01 / (index + 1))
    assert metrics.counter_value("UncachedCompile") <= 2
    metrics.reset()
    with lazy.forbid_compile():
        for index in range(1000):
            loss = step(8, 0.01 / (index + 2))
    assert {each: metrics.counter_value(each) for each in MISSES} == dict.fromkeys(MISSES, 0)
    assert metrics.counter_value("CachedCompile") == 1000
    assert loss.item() > 0


def test_a_partial_batch_adds_one_compile() -> None:
    step = training(thunk.optim.Adam)
    for _ in range(4):
        step(8, 0.01)
    metrics.reset()
    for rows in (5, 8, 5, 8, 5):
        step(rows, 0.01)
    assert metrics.counter_value("UncachedCompile") == 1


def test_reading_the_loss_now_and_then_adds_nothing() -> None:
    step = training(thunk.optim.Adam)
    losses = [step(8, 0.01) for _ in range(4)]
    metrics.reset()
    for index in range(40):
        losses.append(step(8, 0.01))
        if index % 10 == 9:
            assert losses[-1].item() > 0
    assert metrics.counter_value("UncachedCompile") == 0
    assert metrics.counter_value("Executions") == 40


def test_memory_is_flat() -> None:
    step = training(thunk.optim.Adam)
    for _ in range(50):
        step(8, 0.01)
    lazy.wait_device_ops()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(20):
            step(8, 0.01)
        lazy.wait_device_ops()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            step(8, 0.01)
        lazy.wait_device_ops()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 50_000
