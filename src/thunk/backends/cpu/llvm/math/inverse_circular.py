"""Enters: vectors. Leaves: angles from their sines, cosines and tangents.

Invariant: arguments above 1/2 (sines) or 1 (tangents) are replaced by smaller ones, those of the
rest of the right angle, which is known to twice the precision.
"""

from __future__ import annotations

from thunk.backends.cpu.llvm.math.coefficients import COEFFICIENTS, PARTS
from thunk.backends.cpu.llvm.math.lanes import (
    Lanes,
    at_least,
    at_most,
    choose,
    multiply_add,
    polynomial,
)
from thunk.backends.cpu.llvm.math.registry import vector_function


def _arcsine_parts(size: Lanes) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """Whether the size is large, and r + tail: arcsine of it, or of sqrt((1 - size) / 2)."""
    large = size > 0.5
    half = multiply_add(size, -0.5, 0.5)
    square = choose(large, half, size * size)
    r = choose(large, half.sqrt(), size)
    # The root's square is not quite its argument; half the difference over the root is missing.
    series = polynomial(square, COEFFICIENTS["arcsine", size.format.bits])
    return large, r, r * (square * series), square


@vector_function("asin")
def asin(x: Lanes) -> Lanes:
    high, low = PARTS["pi/2", x.format.bits]
    large, r, tail, _ = _arcsine_parts(abs(x))
    folded = high - ((r + r) + ((tail + tail) - low))
    return choose(large, folded, r + tail).with_sign_of(x)


@vector_function("acos")
def acos(x: Lanes) -> Lanes:
    high, low = PARTS["pi/2", x.format.bits]
    large, r, tail, _ = _arcsine_parts(abs(x))
    negative = x < 0.0
    near_one = (r + tail) + (r + tail)
    # pi less the same, for arguments near -1.
    near_minus_one = 2.0 * high - (near_one - 2.0 * low)
    middle = high - (choose(negative, -r, r) + (choose(negative, -tail, tail) - low))
    return choose(large, choose(negative, near_minus_one, near_one), middle)


def _arctangent(ratio: Lanes) -> Lanes:
    """Of a ratio in [0, 1]."""
    square = ratio * ratio
    series = polynomial(square, COEFFICIENTS["arctangent", ratio.format.bits])
    return multiply_add(ratio * square, series, ratio)


@vector_function("atan")
def atan(x: Lanes) -> Lanes:
    high, low = PARTS["pi/2", x.format.bits]
    size = abs(x)
    large = size > 1.0
    angle = _arctangent(choose(large, 1.0 / size, size))
    return choose(large, high - (angle - low), angle).with_sign_of(x)


@vector_function("atan2")
def atan2(y: Lanes, x: Lanes) -> Lanes:
    high, low = PARTS["pi/2", x.format.bits]
    rise, run = abs(y), abs(x)
    large, small = at_least(rise, run), at_most(rise, run)
    ratio = choose(small.equals(large), 1.0, small / large)
    angle = _arctangent(choose(large.equals(0.0), 0.0, ratio))
    angle = choose(rise > run, high - (angle - low), angle)
    # Zero has a sign: to the left of it the angle is pi.
    left = x.as_bits() < 0
    angle = choose(left, 2.0 * high - (angle - 2.0 * low), angle).with_sign_of(y)
    return choose(x.is_unordered_with(y), x + y, angle)
