"""Enters: bounds and probabilities. Leaves: Python numbers from the default random stream.

Invariant: each function draws what the tensor call that PyTorch users write would draw, and leaves
the stream where that call leaves it; nothing is recorded, so augmentation never enters a trace.
"""

from __future__ import annotations

import numpy

from thunk.runtime import random
from thunk.types.dtype import float32
from thunk.types.promotion import get_default_dtype

_SINGLE_BITS = 0xFFFFFF
_LARGEST_SHORT_RANGE = 2**32


def _word() -> int:
    return int(random.default_generator.draw32(1)[0])


def uniform(low: float, high: float) -> float:
    """`torch.empty(1).uniform_(low, high).item()`."""
    element = get_default_dtype().numpy
    return float(random.uniform(random.default_generator, (1,), element, low, high)[0])


def _fraction() -> float:
    """`torch.rand(1).item()`."""
    if get_default_dtype() is float32:
        return (_word() & _SINGLE_BITS) * 2.0**-24
    return uniform(0.0, 1.0)


def _rounded(probability: float) -> float:
    return float(numpy.asarray(probability, get_default_dtype().numpy))


def coin(probability: float) -> bool:
    """`torch.rand(1) < probability`."""
    return _fraction() < _rounded(probability)


def at_most(probability: float) -> bool:
    """`not probability < torch.rand(1)`."""
    return _fraction() <= _rounded(probability)


def integer(low: int, high: int) -> int:
    """`torch.randint(low, high, (1,)).item()`."""
    if 0 < high - low < _LARGEST_SHORT_RANGE:
        return low + _word() % (high - low)
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
