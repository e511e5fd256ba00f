"""Enters: vectors. Leaves: sums, products and quotients, with what rounding took from them.

Invariant: a pair (high, low) stands for the sum of both; |low| is at most half a unit of the last
place of high. Machines without fused operations split factors into halves instead.
"""

from __future__ import annotations

from thunk.backends.cpu.llvm.math.lanes import Lanes, multiply_add
from thunk.backends.cpu.llvm.math.target import machine

Pair = tuple[Lanes, Lanes]


def sum_of_ordered(large: Lanes, small: Lanes) -> Pair:
    """The exact sum of two numbers, the first of which is not the smaller one in size."""
    total = large + small
    return total, (large - total) + small


def exact_sum(x: Lanes, y: Lanes) -> Pair:
    """The exact sum of two numbers."""
    total = x + y
    share = total - x
    return total, (x - (total - share)) + (y - share)


def _halves(x: Lanes) -> Pair:
    places = (x.format.mantissa + 2) // 2
    spread = x * (2.0**places + 1.0)
    high = spread - (spread - x)
    return high, x - high


def exact_product(x: Lanes, y: Lanes) -> Pair:
    """The exact product of two numbers, far from over- and underflow."""
    product = x * y
    if machine().fused:
        return product, x.fused(y, -product)
    x_high, x_low = _halves(x)
    y_high, y_low = _halves(y)
    crossed = (x_high * y_high - product) + x_high * y_low + x_low * y_high
    return product, crossed + x_low * y_low


def remainder_of(quotient: Lanes, divisor: Lanes, dividend: Lanes) -> Lanes:
    """`dividend - quotient * divisor` of a rounded quotient, exactly."""
    if machine().fused:
        return (-quotient).fused(divisor, dividend)
    product, lost = exact_product(quotient, divisor)
    return (dividend - product) - lost


def quotient_of_pairs(dividend: Pair, divisor: Pair) -> Pair:
    """The quotient of two pairs, nearly to twice the precision."""
    quotient, left = quotient_by_pair(dividend[0], divisor)
    return quotient, multiply_add(dividend[1], 1.0 / divisor[0], left)


def quotient_by_pair(dividend: Lanes, divisor: Pair) -> Pair:
    """The quotient of a number by a pair."""
    inverse = 1.0 / divisor[0]
    quotient = dividend * inverse
    left = remainder_of(quotient, divisor[0], dividend)
    return quotient, multiply_add(-quotient, divisor[1], left) * inverse


def product_of_pairs(x: Pair, y: Pair) -> Pair:
    """The product of two pairs."""
    product, lost = exact_product(x[0], y[0])
    lost = multiply_add(x[0], y[1], multiply_add(x[1], y[0], lost))
    return sum_of_ordered(product, lost)
