"""Enters: vectors. Leaves: exact remainders of division, by C's rule and by Python's.

Invariant: every step takes a whole multiple of the divisor away and rounds nothing; a quotient may
have more than two thousand bits, so the steps are many in double precision.
"""

from __future__ import annotations

from thunk.backends.cpu.llvm.math.exact import remainder_of
from thunk.backends.cpu.llvm.math.lanes import DOUBLE, SINGLE, Lanes, at_least, at_most, choose
from thunk.backends.cpu.llvm.math.logarithm import INFINITY
from thunk.backends.cpu.llvm.math.registry import vector_function
from thunk.backends.cpu.llvm.math.scaling import power_of_two, scaled, split
from thunk.backends.cpu.llvm.math.target import machine

# The most bits by which a finite dividend exceeds a divisor.
_SINGLE_GAP, _DOUBLE_GAP = 277, 2098


def _step() -> int:
    """How many bits of the quotient one step finds: its product with the divisor must be exact."""
    return 48 if machine().fused else 26


def _nearest_multiple(x: Lanes) -> Lanes:
    """The nearest whole number of one that is below 2**51 in size."""
    return (x + DOUBLE.magic) - DOUBLE.magic


def _reduced_single(x: Lanes, y: Lanes) -> Lanes:
    """A remainder between -y / 2 and y / 2, of float32 numbers held in double precision."""
    inverse = 1.0 / y
    step = _step()
    places = range(0, _SINGLE_GAP, step)
    for place in reversed(places):
        quotient = _nearest_multiple(x * (inverse * 2.0**-place))
        x = remainder_of(quotient, y * 2.0**place, x)
    return x


def _reduced_double(x: Lanes, y: Lanes) -> Lanes:
    """The same in double precision: both as mantissas, and the gap of their exponents in steps."""
    dividend, upper = split(x)
    divisor, lower = split(y)
    gap = at_least(upper - lower, 0.0)
    inverse = 1.0 / divisor
    step = float(_step())
    for _ in range(-(-_DOUBLE_GAP // _step()) + 1):
        places = at_most(gap, step)
        gap = gap - places
        dividend = dividend * power_of_two(places + DOUBLE.magic)
        dividend = remainder_of(_nearest_multiple(dividend * inverse), divisor, dividend)
    dividend = choose(dividend < 0.0, dividend + divisor, dividend)
    return scaled(dividend, lower + DOUBLE.magic)


def _remainder_of_sizes(x: Lanes, y: Lanes) -> Lanes:
    """The remainder of two finite numbers, the second above zero."""
    if x.format is SINGLE:
        wide = y.widened()
        left = _reduced_single(x.widened(), wide)
        return choose(left < 0.0, left + wide, left).narrowed()
    return _reduced_double(x, y)


@vector_function("fmod")
def fmod(x: Lanes, y: Lanes) -> Lanes:
    size, divisor = abs(x), abs(y)
    left = choose(size < divisor, size, _remainder_of_sizes(size, divisor))
    defined = (size < INFINITY) & (divisor > 0.0)
    return choose(defined, left, float("nan")).with_sign_of(x)


@vector_function("remainder")
def remainder(x: Lanes, y: Lanes) -> Lanes:
    left = fmod(x, y)
    # The sign is the divisor's.
    opposed = (left < 0.0) ^ (y < 0.0)
    return choose(opposed & ~left.equals(0.0), left + y, left)
