"""Enters: vectors. Leaves: roots, hypotenuses and whole parts.

Invariant: what the processor rounds correctly is left to its instruction.
"""

from __future__ import annotations

from thunk.backends.cpu.llvm.math.lanes import (
    SINGLE,
    Lanes,
    at_least,
    at_most,
    choose,
    multiply_add,
)
from thunk.backends.cpu.llvm.math.logarithm import INFINITY
from thunk.backends.cpu.llvm.math.registry import vector_function


@vector_function("sqrt")
def sqrt(x: Lanes) -> Lanes:
    return x.sqrt()


@vector_function("rsqrt")
def rsqrt(x: Lanes) -> Lanes:
    return 1.0 / x.sqrt()


@vector_function("floor")
def floor(x: Lanes) -> Lanes:
    return x.floor()


@vector_function("ceil")
def ceil(x: Lanes) -> Lanes:
    return x.ceil()


@vector_function("trunc")
def trunc(x: Lanes) -> Lanes:
    return x.trunc()


@vector_function("round")
def round_to_even(x: Lanes) -> Lanes:
    return x.round_to_even()


@vector_function("hypot")
def hypot(x: Lanes, y: Lanes) -> Lanes:
    if x.format is SINGLE:
        wide, other = x.widened(), y.widened()
        result = multiply_add(wide, wide, other * other).sqrt().narrowed()
    else:
        large = at_least(abs(x), abs(y))
        ratio = at_most(abs(x), abs(y)) / large
        result = large * multiply_add(ratio, ratio, 1.0).sqrt()
        result = choose(large.equals(0.0), large, result)
    # An infinite leg makes the hypotenuse infinite, whatever the other one is.
    infinite = abs(x).equals(INFINITY) | abs(y).equals(INFINITY)
    result = choose(x.is_unordered_with(y), x + y, result)
    return choose(infinite, INFINITY, result)
