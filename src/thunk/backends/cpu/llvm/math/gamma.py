"""Enters: vectors. Leaves: the logarithm of the gamma function and its derivative.

Invariant: small arguments are shifted, large ones take a series in 1 / x**2, negative ones are
reflected. All in double precision; near the zeros on the negative side only the distance is exact.
"""

from __future__ import annotations

from thunk.backends.cpu.llvm.math.circular import half_turns
from thunk.backends.cpu.llvm.math.coefficients import COEFFICIENTS, PARTS
from thunk.backends.cpu.llvm.math.lanes import (
    Lanes,
    at_least,
    at_most,
    choose,
    multiply_add,
    polynomial,
)
from thunk.backends.cpu.llvm.math.logarithm import INFINITY, log
from thunk.backends.cpu.llvm.math.registry import in_double, vector_function

# Polynomials serve between these, and Stirling's formula from the last one on.
_LOW, _HIGH, _STIRLING = 0.75, 2.75, 8.0
_DIGAMMA_SHIFTS = 10


def _between(size: Lanes) -> Lanes:
    """lgamma of a positive number below `_STIRLING`."""
    product = size.constant(1.0)
    x = size
    for _ in range(int(_STIRLING - _HIGH) + 1):
        lower = x - 1.0
        above = x > _HIGH
        product = choose(above, product * lower, product)
        x = choose(above, lower, x)
    small = x < _LOW
    product = choose(small, x, product)
    near_one = choose(small, x, x - 1.0)
    near_two = near_one - 1.0
    place = near_one - 0.75
    value = near_one * near_two * polynomial(place, COEFFICIENTS["log_gamma", 64])
    logarithm = log(product)
    return value + choose(small, -logarithm, logarithm)


def _stirling(size: Lanes) -> Lanes:
    inverse = 1.0 / size
    high, low = PARTS["log(2 pi)/2", 64]
    tail = polynomial(inverse * inverse, COEFFICIENTS["log_gamma_tail", 64]) * inverse + low
    return multiply_add(size - 0.5, log(size) - 1.0, (high - 0.5) + tail)


@vector_function("lgamma")
@in_double
def lgamma(x: Lanes) -> Lanes:
    size = abs(x)
    between = _between(at_most(size, _STIRLING))
    value = choose(size < _STIRLING, between, _stirling(at_least(size, _STIRLING)))
    # Of a negative number: log(pi / |x sin(pi x)|) less that of its opposite.
    sine, _ = half_turns(x)
    reflected = (PARTS["log(pi)", 64][0] - log(size * abs(sine))) - value
    result = choose((x < 0.0) & (size > 2.0**-60), reflected, value)
    pole = x.equals(0.0) | ((x < 0.0) & x.trunc().equals(x))
    result = choose(pole | size.equals(INFINITY), INFINITY, result)
    return choose(x.is_nan(), x, result)


@vector_function("digamma")
@in_double
def digamma(x: Lanes) -> Lanes:
    negative = x < 0.0
    positive = choose(negative, 1.0 - x, x)
    # The sum of 1 / (x + k) as one quotient, over those k that are needed.
    above, below = x.constant(0.0), x.constant(1.0)
    shifted = positive
    for _ in range(_DIGAMMA_SHIFTS):
        small = shifted < float(_DIGAMMA_SHIFTS)
        above = choose(small, multiply_add(above, shifted, below), above)
        below = choose(small, below * shifted, below)
        shifted = choose(small, shifted + 1.0, shifted)
    inverse = 1.0 / shifted
    tail = polynomial(inverse * inverse, COEFFICIENTS["digamma_tail", 64])
    value = log(shifted) - inverse * multiply_add(inverse, tail, 0.5) - above / below
    sine, cosine = half_turns(x)
    result = choose(negative, value - PARTS["pi", 64][0] * cosine / sine, value)
    result = choose(negative & x.trunc().equals(x), float("nan"), result)
    at_zero = x.constant(-INFINITY).with_sign_of(-x)
    result = choose(x.equals(INFINITY), x, choose(x.equals(0.0), at_zero, result))
    return choose(x.is_nan(), x, result)
