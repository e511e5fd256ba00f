"""PyTorch's CPU random numbers in NumPy: a generator and parameters enter, arrays of samples leave.

Invariant: bit for bit what PyTorch draws from the same state, on x86-64 with AVX2 or AVX512.
"""

from thunk.runtime.random.continuous import cauchy, exponential, log_normal, normal, uniform
from thunk.runtime.random.discrete import (
    bernoulli,
    bernoulli_from,
    geometric,
    randint,
    random,
    randperm,
)
from thunk.runtime.random.fill_order import arrange, fill_order
from thunk.runtime.random.generator import DEFAULT_SEED, Generator, default_generator

__all__ = [
    "DEFAULT_SEED",
    "Generator",
    "arrange",
    "bernoulli",
    "bernoulli_from",
    "cauchy",
    "default_generator",
    "exponential",
    "fill_order",
    "geometric",
    "log_normal",
    "normal",
    "randint",
    "random",
    "randperm",
    "uniform",
]
