"""Enters: a block of lazy code. Leaves: how many programs it made, found again and ran.

Invariant: costs are read from `thunk.lazy.metrics`, the counters that users have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import thunk
from thunk import nn
from thunk.base.config import config
from thunk.lazy import metrics
from thunk.lazy.eager import execution

NAMES = ("UncachedCompile", "CachedCompile", "Interpreted", "TraceMiss")


class Costs:
    """What a block cost, once it is over."""

    def __init__(self) -> None:
        self._before = {name: metrics.counter_value(name) for name in NAMES}
        self._after: dict[str, int] = {}

    def close(self) -> None:
        self._after = {name: metrics.counter_value(name) for name in NAMES}

    def _of(self, name: str) -> int:
        after = self._after or {name: metrics.counter_value(name) for name in NAMES}
        return after[name] - self._before[name]

    @property
    def compiles(self) -> int:
        return self._of("UncachedCompile")

    @property
    def new(self) -> int:
        """Programs run for the first time, compiled or interpreted."""
        return self._of("UncachedCompile") + self._of("Interpreted")

    @property
    def runs(self) -> int:
        return self.new + self._of("CachedCompile")

    @property
    def misses(self) -> int:
        """Operations that were not found on the trie."""
        return self._of("TraceMiss")


@contextmanager
def counted() -> Iterator[Costs]:
    costs = Costs()
    yield costs
    costs.close()


@contextmanager
def lazily(backend: str = "reference") -> Iterator[None]:
    """Record; what a cut runs is counted alike whoever runs it, and interpreting is quick."""
    with execution(True), config.override(backend=backend, interpret_first=False):
        yield


def perceptron(dropout: float = 0.0) -> Any:
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 3))


def batches(count: int, size: int = 4) -> list[tuple[Any, Any]]:
    """Inputs and classes that differ from batch to batch."""
    generator = thunk.Generator().manual_seed(5)
    return [
        (
            thunk.randn(size, 6, generator=generator),
            thunk.randint(0, 3, (size,), generator=generator),
        )
        for _ in range(count)
    ]


def train(model: Any, optimizer: Any, pairs: list[tuple[Any, Any]],
          each: Callable[[int, Any], None] = lambda step, loss: None) -> Any:  # fmt: skip
    loss = None
    for step, (inputs, classes) in enumerate(pairs):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), classes)
        loss.backward()
        optimizer.step()
        each(step, loss)
    return loss
