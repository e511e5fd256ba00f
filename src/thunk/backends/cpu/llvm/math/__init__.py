"""Vector mathematics: names enter, emitters of branch-free LLVM code leave, right at every input."""

from thunk.backends.cpu.llvm.math import exponential, logarithm
from thunk.backends.cpu.llvm.math.registry import Emitter, vector_functions

__all__ = ["Emitter", "vector_functions"]

assert exponential and logarithm
