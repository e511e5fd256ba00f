"""The same small pieces of work for any library with PyTorch's names.

In: the library's module. Out: functions without arguments, by the name of what they measure.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any


def small_operations(lib: Any) -> dict[str, Callable[[], object]]:
    """One call on tensors so small that only the way to the kernel counts."""
    x, y = lib.ones(4), lib.ones(4)
    wanting = lib.ones(4, requires_grad=True)
    return {
        "x + y, 4 elements": lambda: x + y,
        "x + y, recording a gradient": lambda: wanting + y,
        "x[0]": lambda: x[0],
        "x.add_(y)": lambda: x.add_(y),
    }


def chain(lib: Any, depth: int = 100) -> Callable[[], object]:
    """A chain of operations forward, then backward."""
    start = lib.ones(16, requires_grad=True)

    def run() -> object:
        value = start
        for _ in range(depth):
            value = value * 1.01 + 0.5
        value.sum().backward()
        start.grad = None
        return value

    return run


def regression_step(lib: Any, samples: int = 1024, features: int = 8) -> Callable[[], object]:
    """One step of logistic regression by hand, as in examples/first_steps.py."""
    lib.manual_seed(0)
    points, labels = lib.randn(samples, features), lib.rand(samples).round()
    weight = lib.zeros(features, requires_grad=True)

    def run() -> object:
        logits = points @ weight
        stable = lib.log1p(lib.exp(-logits.abs()))
        loss = (logits.clamp(min=0) - logits * labels + stable).mean()
        loss.backward()
        with lib.no_grad():
            weight.sub_(weight.grad, alpha=0.1)
            weight.grad = None
        return loss

    return run


def dense_layers(lib: Any, batch: int = 64) -> Callable[[], object]:
    """Forward and backward of a 784-128-64-10 perceptron."""
    lib.manual_seed(0)
    sizes = (784, 128, 64, 10)
    weights = [lib.randn(a, b) * 0.05 for a, b in pairwise(sizes)]
    for weight in weights:
        weight.requires_grad_(True)
    images = lib.randn(batch, sizes[0])

    def run() -> object:
        value = images
        for weight in weights:
            value = (value @ weight).tanh()
        value.square().mean().backward()
        for weight in weights:
            weight.grad = None
        return value

    return run


def all_of(lib: Any) -> dict[str, Callable[[], object]]:
    """Every workload by name."""
    return {
        **small_operations(lib),
        "100 x (mul, add), forward and backward": chain(lib),
        "logistic regression step, 1024 x 8": regression_step(lib),
        "perceptron 784-128-64-10, batch 64, forward and backward": dense_layers(lib),
    }
