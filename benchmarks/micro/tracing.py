"""What recording costs: one operator, and a training step with execution left out.

In: nothing. Out: microseconds beside torch eager's, which computes on tiny tensors meanwhile.
Invariant: both take turns; Thunk's programs are never run, so what remains is the host's work.

    python benchmarks/micro/tracing.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import thunk
from thunk.lazy import mark_step, noop
from thunk.lazy.eager import execution

sys.path.insert(0, str(Path(__file__).parents[1]))
from timing import interleaved

LENGTH = 100


def chain(library: Any, step: Callable[[Any], Any], differentiable: bool) -> Callable[[], None]:
    """`LENGTH` operators in a row, and the end of a step."""
    start = library.ones(4, 4, requires_grad=differentiable)

    def run() -> None:
        value = start
        for _ in range(LENGTH):
            value = step(value)
        if library is thunk:
            mark_step()

    return run


def operators(library: Any) -> dict[str, Callable[[], None]]:
    """A chain of each kind of operator."""
    other = library.ones(4, 4)
    relu = library.relu

    def no_grad(value: Any) -> Any:
        with library.no_grad():
            return value + other

    return {
        "x + y": chain(library, lambda x: x + other, False),
        "x + y, grad": chain(library, lambda x: x + other, True),
        "x * 0.5": chain(library, lambda x: x * 0.5, False),
        "relu(x)": chain(library, relu, False),
        "x.add_(y)": chain(library, lambda x: (x + other).add_(other), False),
        "x.t()": chain(library, lambda x: x.t(), False),
        "x.view(-1).view(4, 4)": chain(library, lambda x: x.view(-1).view(4, 4), False),
        "x[0:4]": chain(library, lambda x: x[0:4], False),
        "no_grad block": chain(library, no_grad, False),
    }


class Net:
    """The network of the issue: 784-128-64-10, Adam; tiny tensors for torch, which computes."""

    def __init__(self, library: Any, dropout: bool = False, hook: bool = False) -> None:
        nn = library.nn
        sizes = (784, 128, 64, 10) if library is thunk else (4, 4, 4, 4)
        library.manual_seed(0)
        layers = [
            nn.Linear(sizes[0], sizes[1]), nn.ReLU(), *([nn.Dropout(0.5)] if dropout else []),
            nn.Linear(sizes[1], sizes[2]), nn.ReLU(), nn.Linear(sizes[2], sizes[3]),
        ]  # fmt: skip
        self.library = library
        self.model = nn.Sequential(*layers)
        self.optimizer = library.optim.Adam(self.model.parameters())
        self.inputs = library.ones(64 if library is thunk else 2, sizes[0])
        self.labels = library.zeros(self.inputs.shape[0], dtype=library.int64)
        if hook:
            self.model[0].weight.register_hook(lambda gradient: None)

    def loss(self) -> Any:
        found = self.model(self.inputs)
        return self.library.nn.functional.cross_entropy(found, self.labels)

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()

    def step_with_item(self) -> None:
        self.optimizer.zero_grad()
        loss = self.loss()
        loss.item()
        loss.backward()
        self.optimizer.step()

    def step_of_two_batches(self) -> None:
        self.optimizer.zero_grad()
        self.loss().backward()
        self.loss().backward()
        self.optimizer.step()


def steps(library: Any) -> dict[str, Callable[[], None]]:
    """Training steps of several forms."""
    return {
        "MLP + Adam step": Net(library).step,
        "loss.item() before backward": Net(library).step_with_item,
        "two micro-batches": Net(library).step_of_two_batches,
        "dropout in the net": Net(library, dropout=True).step,
        "hook on a leaf": Net(library, hook=True).step,
    }


def report(title: str, ours: dict[str, Any], theirs: dict[str, Any], each: int) -> None:
    """Microseconds of each way."""
    print(f"{title:32} {'thunk':>9} {'torch':>9} {'ratio':>7}")
    for name, way in ours.items():
        for _ in range(5):
            way()
        found = interleaved({"thunk": way, "torch": theirs[name]})
        mine, other = (found[key] * 1e6 / each for key in ("thunk", "torch"))
        print(f"{name:32} {mine:9.2f} {other:9.2f} {other / mine:7.1f}")


def main() -> None:
    torch.set_num_threads(1)
    with execution(True):
        ours = operators(thunk), steps(thunk)
        mark_step(wait=True)  # values that calls look at are there, as they would be
        noop.switch(True)
        report("one operator (us)", ours[0], operators(torch), LENGTH)
        print()
        report("a step (us)", ours[1], steps(torch), 1)


if __name__ == "__main__":
    main()
