"""PyTorch's CPU random numbers in NumPy: a generator and parameters enter, arrays of samples leave.

Invariant: bit for bit what PyTorch draws from the same state, on x86-64 with AVX2 or AVX512.
"""

from thunk.runtime.random.binomial import binomial
from thunk.runtime.random.continuous import cauchy, exponential, log_normal, normal, uniform
from thunk.runtime.random.discrete import bernoulli, bernoulli_from, geometric, randint, random
from thunk.runtime.random.fill_order import arrange, fill_order
from thunk.runtime.random.generator import (
    DEFAULT_SEED,
    STATE_BYTES,
    Generator,
    checked_seed,
    default_generator,
)
from thunk.runtime.random.multinomial import multinomial
from thunk.runtime.random.permutation import randperm
from thunk.runtime.random.rejection import dirichlet, poisson, standard_gamma
from thunk.runtime.random.selection import largest_in_order

__all__ = [
    "DEFAULT_SEED",
    "STATE_BYTES",
    "Generator",
    "arrange",
    "bernoulli",
    "bernoulli_from",
    "binomial",
    "cauchy",
    "checked_seed",
    "default_generator",
    "dirichlet",
    "exponential",
    "fill_order",
    "geometric",
    "largest_in_order",
    "log_normal",
    "multinomial",
    "normal",
    "poisson",
    "randint",
    "random",
    "randperm",
    "standard_gamma",
    "uniform",
]
