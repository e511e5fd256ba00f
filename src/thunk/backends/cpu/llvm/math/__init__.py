"""Vector mathematics: names enter, emitters of branch-free code leave, right at every input."""

from thunk.backends.cpu.llvm.math import (
    activation,
    circular,
    errors,
    exponential,
    gamma,
    inverse_circular,
    inverse_hyperbolic,
    logarithm,
    power,
    remainders,
    roots,
)
from thunk.backends.cpu.llvm.math.registry import Emitter, vector_functions

__all__ = [
    "Emitter",
    "vector_functions",
    "activation",
    "circular",
    "errors",
    "exponential",
    "gamma",
    "inverse_circular",
    "inverse_hyperbolic",
    "logarithm",
    "power",
    "remainders",
    "roots",
]
