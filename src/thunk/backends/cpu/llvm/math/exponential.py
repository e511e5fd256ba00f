"""Enters: vectors. Leaves: exponentials, hyperbolic functions and the logistic function.

Invariant: `x = n log(2) + r` with |r| <= log(2) / 2, and exp(r) - 1 is one polynomial in r.
"""

from __future__ import annotations

from thunk.backends.cpu.llvm.math.coefficients import COEFFICIENTS, PARTS
from thunk.backends.cpu.llvm.math.exact import (
    Pair,
    exact_product,
    quotient_by_pair,
    quotient_of_pairs,
    sum_of_ordered,
)
from thunk.backends.cpu.llvm.math.lanes import (
    SINGLE,
    Lanes,
    at_least,
    at_most,
    choose,
    multiply_add,
    polynomial,
)
from thunk.backends.cpu.llvm.math.registry import in_double, vector_function
from thunk.backends.cpu.llvm.math.scaling import constant_for, power_of_two, scaled

_LOG2_E = 1.4426950408889634


def _reduced(x: Lanes) -> tuple[Lanes, Lanes]:
    """n (shifted) and r."""
    form = x.format
    shifted = multiply_add(x, _LOG2_E, form.magic)
    n = shifted - form.magic
    # The product with the first part is exact.
    first, second = PARTS["log(2)", form.bits]
    return shifted, multiply_add(n, -second, multiply_add(n, -first, x))


def _less_one(r: Lanes) -> Lanes:
    """exp(r) - 1 of a small r."""
    tail = polynomial(r, COEFFICIENTS["exponential", r.format.bits])
    return multiply_add(r * r, tail, r)


def _reduced_in_two(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """n (shifted), r, and what r was rounded by plus exp(r) - 1 - r."""
    form = x.format
    shifted = multiply_add(x, _LOG2_E, form.magic)
    n = shifted - form.magic
    first, second = PARTS["log(2)", form.bits]
    high = multiply_add(n, -first, x)
    r = multiply_add(n, -second, high)
    lost = multiply_add(n, -second, high - r)
    tail = polynomial(r, COEFFICIENTS["exponential", form.bits])
    return shifted, r, multiply_add(r * r, tail, lost)


def bounded(x: Lanes) -> Lanes:
    """Beyond these bounds exp is 0 or infinite, and the exponents would not fit."""
    low = constant_for(x.format, -104.0, -746.0)
    high = constant_for(x.format, 89.0, 710.0)
    return at_least(at_most(x, high), low)


@vector_function("exp")
def exp(x: Lanes) -> Lanes:
    shifted, r = _reduced(bounded(x))
    return scaled(_less_one(r) + 1.0, shifted)


def exp_of_sum(x: Lanes, rest: Lanes) -> Lanes:
    """exp(x + rest), where `rest` is too small to be added to `x`."""
    shifted, r, tail = _reduced_in_two(bounded(x))
    near, lost = sum_of_ordered(r.constant(1.0), r)
    return scaled(near + (lost + multiply_add(near + tail, rest, tail)), shifted)


@vector_function("exp2")
def exp2(x: Lanes) -> Lanes:
    form = x.format
    low = constant_for(form, -151.0, -1076.0)
    high = constant_for(form, 129.0, 1025.0)
    clamped = at_least(at_most(x, high), low)
    shifted = clamped + form.magic
    r = clamped - (shifted - form.magic)
    slope = polynomial(r, COEFFICIENTS["power_of_two", form.bits])
    return scaled(multiply_add(r, slope, 1.0), shifted)


def _lessened_pair(x: Lanes) -> Pair:
    """exp(x) - 1 with what its rounding lost; `x` such that exp(x) is a normal number."""
    shifted, r, tail = _reduced_in_two(x)
    power = power_of_two(shifted)
    whole, lost = sum_of_ordered(power - 1.0, power * r)
    return sum_of_ordered(whole, multiply_add(power, tail, lost))


def _lessened(x: Lanes, halvings: int) -> Lanes:
    """(exp(x) - 1) / 2**halvings; `x` such that exp(x) / 2**halvings is a normal number."""
    shifted, r, tail = _reduced_in_two(x)
    power = power_of_two(shifted - float(halvings) if halvings else shifted)
    return multiply_add(power, tail, multiply_add(power, r, power - 2.0**-halvings))


@vector_function("expm1")
def expm1(x: Lanes) -> Lanes:
    form = x.format
    low = constant_for(form, -18.0, -38.0)
    high = constant_for(form, 89.0, 710.0)
    half = _lessened(at_least(at_most(x, high), low), 1)
    # Near zero the function is its argument, subnormal numbers and the sign of zero included.
    return choose(abs(x) < 2.0 ** -(form.mantissa + 2), x, half + half)


def _short_tanh(x: Lanes) -> Lanes:
    """In float32: an odd polynomial near zero, 1 - 2 / (exp(2 x) + 1) elsewhere."""
    size = abs(x)
    square = x * x
    series = polynomial(square, COEFFICIENTS["tanh", 32])
    near = multiply_add(size * square, series, size)
    # Beyond the bound the result is 1. What rounding takes from the exponent of 2 is a small
    # part of a quotient that falls faster than the exponent grows.
    exponent = at_most(size, 9.5) * (2 * _LOG2_E)
    shifted = exponent + x.format.magic
    r = exponent - (shifted - x.format.magic)
    grown = multiply_add(r, polynomial(r, COEFFICIENTS["power_of_two", 32]), 1.0)
    far = 1.0 - 2.0 / multiply_add(grown, power_of_two(shifted), 1.0)
    return choose(size < 0.6, near, far).with_sign_of(x)


@vector_function("tanh")
def tanh(x: Lanes) -> Lanes:
    if x.format is SINGLE:
        return _short_tanh(x)
    # Beyond the bound the result is 1.
    size = at_most(abs(x), 20.0)
    grown = _lessened_pair(size + size)
    divisor, rest = sum_of_ordered(at_least(grown[0], 2.0), at_most(grown[0], 2.0))
    quotient, left = quotient_of_pairs(grown, (divisor, rest + grown[1]))
    return (quotient + left).with_sign_of(x)


@vector_function("sinh")
@in_double
def sinh(x: Lanes) -> Lanes:
    form = x.format
    size = at_most(abs(x), constant_for(form, 89.7, 710.7))
    quarter = _lessened(size, 2)
    half = quarter + quarter
    result = half + at_most(half, form.largest) / (half + half + 1.0)
    return choose(size < 2.0 ** -(form.mantissa // 2 + 2), abs(x), result).with_sign_of(x)


@vector_function("cosh")
def cosh(x: Lanes) -> Lanes:
    form = x.format
    shifted, r = _reduced(at_most(abs(x), constant_for(form, 89.7, 710.7)))
    quarter = (_less_one(r) + 1.0) * power_of_two(shifted - 2.0)
    return multiply_add(quarter, 2.0, 0.125 / quarter)


def careful_exp(x: Lanes) -> Lanes:
    """exp with little more error than that of its rounding."""
    shifted, r, tail = _reduced_in_two(bounded(x))
    near, lost = sum_of_ordered(r.constant(1.0), r)
    return scaled(near + (lost + tail), shifted)


def logistic_share(x: Lanes, factor: Lanes | None = None) -> Lanes:
    """The logistic function of x, times a finite factor."""
    fallen = careful_exp(-abs(x))
    # Above zero 1 / (1 + exp(-x)), below it exp(x) / (1 + exp(x)): both without overflow.
    dividend = choose(x < 0.0, fallen, 1.0)
    divisor = sum_of_ordered(x.constant(1.0), fallen)
    if factor is None:
        quotient, left = quotient_by_pair(dividend, divisor)
        return quotient + left
    quotient, left = quotient_of_pairs(exact_product(dividend, factor), divisor)
    return (quotient + left).with_sign_of(factor)


def logistic_pair(x: Lanes) -> tuple[Lanes, Lanes]:
    """The logistic function of x and of -x, neither from 1 less the other."""
    fallen = exp(-abs(x))
    inverse = 1.0 / (fallen + 1.0)
    negative = x < 0.0
    below = fallen * inverse
    return choose(negative, below, inverse), choose(negative, inverse, below)


@vector_function("sigmoid")
def sigmoid(x: Lanes) -> Lanes:
    return logistic_share(x)
