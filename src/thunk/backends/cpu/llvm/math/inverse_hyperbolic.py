"""Enters: vectors. Leaves: the inverses of the hyperbolic functions.

Invariant: each is a logarithm of 1 + t; t is small where the result is, and computed without
cancellation. The large ones are logarithms of twice the argument.
"""

from __future__ import annotations

from thunk.backends.cpu.llvm.math.coefficients import PARTS
from thunk.backends.cpu.llvm.math.lanes import Lanes, at_most, choose, multiply_add
from thunk.backends.cpu.llvm.math.logarithm import INFINITY, log1p_of
from thunk.backends.cpu.llvm.math.registry import in_double, vector_function


def _above(size: Lanes, t: Lanes, limit: float) -> Lanes:
    """log(1 + t), or log(2 * size) of a size beyond the limit."""
    large = size > limit
    value = log1p_of(choose(large, at_most(size, size.format.largest), t))
    value = value + choose(large, PARTS["log(2)", 64][0] + PARTS["log(2)", 64][1], value * 0.0)
    return choose(size < INFINITY, value, size)


@vector_function("asinh")
@in_double
def asinh(x: Lanes) -> Lanes:
    size = abs(x)
    square = size * size
    t = size + square / ((square + 1.0).sqrt() + 1.0)
    return _above(size, t, 2.0**60).with_sign_of(x)


@vector_function("acosh")
@in_double
def acosh(x: Lanes) -> Lanes:
    beyond = x - 1.0
    t = beyond + (multiply_add(beyond, beyond, beyond + beyond)).sqrt()
    return choose(x >= 1.0, _above(x, t, 2.0**60), float("nan"))


@vector_function("atanh")
@in_double
def atanh(x: Lanes) -> Lanes:
    size = abs(x)
    value = log1p_of((size + size) / (1.0 - size)) * 0.5
    value = choose(size.equals(1.0), INFINITY, value)
    # Tiny arguments are left alone: doubling and halving would round the subnormal ones.
    value = choose(size < 2.0**-40, size, value)
    return choose(size > 1.0, float("nan"), value).with_sign_of(x)
