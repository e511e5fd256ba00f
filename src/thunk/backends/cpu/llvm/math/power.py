"""Enters: vectors. Leaves: powers, with C's special cases.

Invariant: the logarithm of the base has as many digits more than the result as exponents take away.
"""

from __future__ import annotations

from thunk.backends.cpu.llvm.math.coefficients import COEFFICIENTS, PARTS
from thunk.backends.cpu.llvm.math.exact import (
    Pair,
    exact_product,
    exact_sum,
    product_of_pairs,
    quotient_of_pairs,
    sum_of_ordered,
)
from thunk.backends.cpu.llvm.math.lanes import (
    DOUBLE,
    SINGLE,
    Lanes,
    at_least,
    at_most,
    choose,
    multiply_add,
    polynomial,
)
from thunk.backends.cpu.llvm.math.logarithm import INFINITY, short_log2
from thunk.backends.cpu.llvm.math.registry import vector_function
from thunk.backends.cpu.llvm.math.scaling import scaled, split

# Beyond this exponent of 2 every result is zero or infinite.
_BEYOND = 1100.0


def _pair(model: Lanes, name: str) -> Pair:
    high, low = PARTS[name, model.format.bits]
    return model.constant(high), model.constant(low)


def _log2_pair(x: Lanes) -> Pair:
    """log2 of a positive, finite number in about 64 digits: an odd series in (m - 1) / (m + 1)."""
    mantissa, n = split(x)
    less = mantissa - 1.0
    more = sum_of_ordered(mantissa.constant(2.0), less)
    quotient = quotient_of_pairs((less, less.constant(0.0)), more)
    ratio = sum_of_ordered(*quotient)
    square = product_of_pairs(ratio, ratio)
    tail = square[0] * polynomial(square[0], COEFFICIENTS["odd_logarithm", 64])
    third = _pair(x, "1/3")
    inner = sum_of_ordered(third[0], tail + third[1])
    cubic = product_of_pairs(product_of_pairs(ratio, square), inner)
    high, lost = sum_of_ordered(ratio[0], cubic[0])
    natural = sum_of_ordered(high, lost + (cubic[1] + ratio[1]))
    binary = product_of_pairs((natural[0] * 2.0, natural[1] * 2.0), _pair(x, "log2(e)"))
    whole, rest = exact_sum(n, binary[0])
    return sum_of_ordered(whole, rest + binary[1])


def _exp2_of_pair(exponent: Pair, bits: int) -> Lanes:
    """2 to the pair, which is no larger than `_BEYOND` in size; `bits` chooses the polynomial."""
    high, low = exponent
    shifted = high + DOUBLE.magic
    r = (high - (shifted - DOUBLE.magic)) + low
    slope = polynomial(r, COEFFICIENTS["power_of_two", bits])
    return scaled(multiply_add(r, slope, 1.0), shifted)


def _size_of_power(size: Lanes, exponent: Lanes) -> Lanes:
    """A positive, finite number raised to a power, in double precision."""
    high, low = _log2_pair(size)
    product = high * exponent
    within = abs(product) < _BEYOND
    exact, lost = exact_product(choose(within, high, 0.0), choose(within, exponent, 0.0))
    low = multiply_add(choose(within, low, 0.0), choose(within, exponent, 0.0), lost)
    bounded = at_least(at_most(product, _BEYOND), -_BEYOND)
    return _exp2_of_pair((choose(within, exact, bounded), low), 64)


def _size_of_short_power(size: Lanes, exponent: Lanes) -> Lanes:
    """The same to the accuracy of float32."""
    high, low = short_log2(size)
    product = multiply_add(low, exponent, high * exponent)
    bounded = at_least(at_most(product, _BEYOND), -_BEYOND)
    return _exp2_of_pair((bounded, bounded.constant(0.0)), 48)


def _size(size: Lanes, exponent: Lanes) -> Lanes:
    if size.format is SINGLE:
        return _size_of_short_power(size.widened(), exponent.widened()).narrowed()
    return _size_of_power(size, exponent)


@vector_function("pow")
def power(x: Lanes, y: Lanes) -> Lanes:
    size = abs(x)
    rises = (size > 1.0) ^ (y < 0.0)
    result = _size(choose(size < INFINITY, choose(size > 0.0, size, 1.0), 1.0), y)
    extreme = size.equals(0.0) | size.equals(INFINITY) | abs(y).equals(INFINITY)
    result = choose(extreme, choose(rises, result.constant(INFINITY), 0.0), result)
    result = choose(size.equals(1.0), 1.0, result)
    whole = y.trunc().equals(y)
    half = y * 0.5
    odd = whole & ~half.trunc().equals(half)
    negative = x.as_bits() < 0
    # Finite negative numbers have no powers between the whole ones.
    undefined = (x < 0.0) & ~whole & (size < INFINITY)
    result = choose(undefined, float("nan"), result)
    result = choose(negative & odd, -result, result)
    result = choose(x.is_unordered_with(y), x + y, result)
    return choose(y.equals(0.0) | x.equals(1.0), 1.0, result)
