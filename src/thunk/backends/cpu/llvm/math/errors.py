"""Enters: vectors. Leaves: the error function, its complement and inverse, and the GELU activation.

Invariant: `erfc(b) = exp(-b**2) erfcx(b)` for b >= 0, and erfcx(b) (b + c) is one polynomial in
(b - c) / (b + c); so nothing is lost where the result is small. Near zero erf has its own.
"""

from __future__ import annotations

from thunk.backends.cpu.llvm.math.coefficients import COEFFICIENTS, PARTS
from thunk.backends.cpu.llvm.math.exact import exact_product, remainder_of
from thunk.backends.cpu.llvm.math.exponential import (
    exp,
    exp_of_sum,
    logistic_pair,
    sigmoid,
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
from thunk.backends.cpu.llvm.math.logarithm import INFINITY, log
from thunk.backends.cpu.llvm.math.registry import in_double, vector_function
from thunk.backends.cpu.llvm.math.scaling import constant_for

_TWO_OVER_ROOT_PI = 1.1283791670955126
_ROOT_HALF_OVER_PI = 0.3989422804014327
_GELU_FACTOR, _GELU_CUBIC = 0.7978845608028654, 0.044715


def _scaled_complement(b: Lanes) -> Lanes:
    """erfcx(b), for b >= 0; beyond the bound erfc is zero in any case."""
    form = b.format
    bounded = at_most(b, constant_for(form, 10.2, 27.5))
    offset = constant_for(form, 1.5, 2.0)
    below, above = bounded - offset, bounded + offset
    inverse = 1.0 / above
    place = below * inverse
    if form is DOUBLE:
        place = multiply_add(remainder_of(place, above, below), inverse, place)
    return polynomial(place, COEFFICIENTS["scaled_complement", form.bits]) * inverse


def _bell(x: Lanes, factor: float) -> Lanes:
    """exp(-factor * x**2), for a factor that is a power of two."""
    # Larger arguments give zero as well, and their squares exist.
    size = at_most(abs(x), constant_for(x.format, 64.0, 128.0))
    square, lost = exact_product(size, size)
    return exp_of_sum(square * -factor, lost * -factor)


def _complement(size: Lanes) -> Lanes:
    """erfc of a number that is not negative."""
    return _scaled_complement(size) * _bell(size, 1.0)


def _near_zero(x: Lanes) -> Lanes:
    """erf(x) for |x| <= 1."""
    return multiply_add(x, polynomial(x * x, COEFFICIENTS["error", x.format.bits]), x)


def _short_complement(size: Lanes) -> Lanes:
    """erfc of a float32 number above 1, as accurate as its difference from 1 asks for."""
    place = at_most(size, 4.0) - 2.5
    return exp(-polynomial(place, COEFFICIENTS["log_complement", 32]))


@vector_function("erf")
def erf(x: Lanes) -> Lanes:
    size = abs(x)
    beyond = _short_complement(size) if x.format is SINGLE else _complement(size)
    return choose(size < 1.0, _near_zero(x), (1.0 - beyond).with_sign_of(x))


@vector_function("erfc")
@in_double
def erfc(x: Lanes) -> Lanes:
    size = abs(x)
    beyond = _complement(size)
    far = choose(x < 0.0, 2.0 - beyond, beyond)
    return choose(size < 0.5, 1.0 - _near_zero(x), far)


@vector_function("erfinv")
@in_double
def erfinv(x: Lanes) -> Lanes:
    size = abs(x)
    rest = 1.0 - size
    w = -log(rest * (size + 1.0))
    center = polynomial(w - 3.125, COEFFICIENTS["inverse_error_center", 64])
    tail = polynomial(w.sqrt() - 4.25, COEFFICIENTS["inverse_error_tail", 64])
    guess = size * choose(w < 6.25, center, tail)
    # One step of Halley's method trebles the digits; above 0.8 it compares complements.
    bell = _bell(guess, 1.0)
    below = _near_zero(guess) - size
    above = rest - _scaled_complement(guess) * bell
    step = choose(size < 0.8, below, above) / (bell * _TWO_OVER_ROOT_PI)
    result = guess - step / multiply_add(guess, step, 1.0)
    result = choose(size.equals(1.0), INFINITY, result)
    return choose(size > 1.0, float("nan"), result).with_sign_of(x)


def _normal_share(x: Lanes) -> tuple[Lanes, Lanes]:
    """The chance of a normal number below x, and exp(-x**2 / 2)."""
    bell = _bell(x, 0.5)
    scaled = x * PARTS["sqrt(1/2)", x.format.bits][0]
    size = abs(scaled)
    tail = _scaled_complement(size) * bell * 0.5
    far = choose(x < 0.0, tail, 1.0 - tail)
    return choose(size < 0.75, multiply_add(_near_zero(scaled), 0.5, 0.5), far), bell


@vector_function("special_ndtr")
def ndtr(x: Lanes) -> Lanes:
    return _normal_share(x)[0]


@vector_function("gelu")
def gelu(x: Lanes) -> Lanes:
    return x * _normal_share(x)[0]


@vector_function("gelu_backward")
def gelu_backward(grad: Lanes, x: Lanes) -> Lanes:
    share, bell = _normal_share(x)
    return grad * multiply_add(x * bell, _ROOT_HALF_OVER_PI, share)


def _tanh_form(x: Lanes) -> tuple[Lanes, Lanes]:
    """2 u and 2 du / dx of the tanh form, which is x (1 + tanh(u)) / 2."""
    square = x * x
    doubled = 2 * _GELU_FACTOR
    inner = x * multiply_add(square, doubled * _GELU_CUBIC, doubled)
    return inner, multiply_add(square, 3 * doubled * _GELU_CUBIC, doubled)


@vector_function("gelu_tanh")
def gelu_tanh(x: Lanes) -> Lanes:
    return x * sigmoid(_tanh_form(x)[0])


@vector_function("gelu_tanh_backward")
def gelu_tanh_backward(grad: Lanes, x: Lanes) -> Lanes:
    # Beyond these bounds the curve is a straight line, and its cubic would overflow.
    bounded = at_least(at_most(x, 100.0), -100.0)
    inner, slope = _tanh_form(bounded)
    share, rest = logistic_pair(inner)
    return grad * multiply_add(bounded * share * rest, slope, share)
