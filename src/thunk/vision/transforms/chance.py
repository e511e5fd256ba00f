"""Enters: bounds and probabilities. Leaves: Python numbers from the default random stream.

Invariant: each function draws what the tensor call that PyTorch users write would draw, and leaves
the stream where that call leaves it; nothing is recorded, so augmentation never enters a trace.
"""

from __future__ import annotations

import numpy

from thunk.runtime import random
from thunk.types.promotion import get_default_dtype


def uniform(low: float, high: float) -> float:
    """`torch.empty(1).uniform_(low, high).item()`."""
    element = get_default_dtype().numpy
    return float(random.uniform(random.default_generator, (1,), element, low, high)[0])


def coin(probability: float) -> bool:
    """`torch.rand(1) < probability`."""
    element = get_default_dtype().numpy
    drawn = random.uniform(random.default_generator, (1,), element)[0]
    return bool(drawn < numpy.asarray(probability, element))


def integer(low: int, high: int) -> int:
    """`torch.randint(low, high, (1,)).item()`."""
    return int(random.randint(random.default_generator, (1,), numpy.int64, low, high)[0])


def permutation(count: int) -> list[int]:
    """`torch.randperm(count).tolist()`."""
    drawn = random.randperm(random.default_generator, count, numpy.int64)
    return [int(number) for number in drawn]


def log_uniform(low: float, high: float) -> float:
    """`exp` of a uniform number between the logarithms of the bounds, as tensors round it."""
    element = get_default_dtype().numpy
    first, last = numpy.log(numpy.asarray((low, high), element))
    return float(numpy.exp(numpy.asarray(uniform(float(first), float(last)), element)))


def at_most(probability: float) -> bool:
    """`not probability < torch.rand(1)`."""
    element = get_default_dtype().numpy
    drawn = random.uniform(random.default_generator, (1,), element)[0]
    return bool(drawn <= numpy.asarray(probability, element))
