"""NumPy rules of the logarithm of gamma, its derivatives, and Hurwitz's zeta function."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference import special_tables as tables
from thunk.backends.reference.kernel import rule
from thunk.backends.reference.pointwise_operands import operand
from thunk.backends.reference.special_series import (
    Vector,
    binary_rule,
    fitted,
    horner,
    piecewise,
    sine_of_pi,
    unary_rule,
)
from thunk.types.spec import TensorSpec

# B(2k) / (2k (2k - 1)): the series behind Stirling's formula in powers of 1 / (x * x)
STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
)  # fmt: skip
# B(2k) / (2k): digamma's
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
# B(2k) / (2k)!: Euler and Maclaurin's
EULER = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000, 43867 / 5109094217170944000,
)  # fmt: skip
_HALF_LOG_2PI = 0.5 * numpy.log(2 * numpy.pi)
STEPS = 10  # after so many, the asymptotic series are exact


def _stirling(x: Vector) -> Vector:
    rest = horner(STIRLING, 1 / (x * x)) / x
    return (x - 0.5) * numpy.log(x) - x + _HALF_LOG_2PI + rest


def _lgamma_right(x: Vector) -> Vector:
    """lgamma where x is positive."""
    return piecewise(
        x,
        (x < 0.5, lambda v: _near_one(v + 1) - numpy.log(v)),
        (x < 1.5, _near_one),
        (x < 3, lambda v: (v - 2) * fitted(tables.LGAMMA_2, 1.5, 3, v)),
        (x < 8, lambda v: (v - 2) * fitted(tables.LGAMMA_3, 3, 8, v)),
        (x < 1e305, _stirling),
        (x >= 1e305, lambda v: v * (numpy.log(v) - 1)),
    )


def _near_one(x: Vector) -> Vector:
    return (x - 1) * fitted(tables.LGAMMA_1, 0.5, 1.5, x)


def lgamma(x: Vector) -> Vector:
    """log(|gamma(x)|); infinite at 0, -1, -2, ..."""
    return piecewise(
        x,
        (numpy.isinf(x), lambda v: numpy.full_like(v, numpy.inf)),
        (x > 0, _lgamma_right),
        (x <= 0, _lgamma_left),
    )


def _lgamma_left(x: Vector) -> Vector:
    product = numpy.abs(x * sine_of_pi(x))
    result = numpy.log(numpy.pi / product) - _lgamma_right(-x)
    tiny = numpy.abs(x) < 1e-300
    result = numpy.where(tiny, -numpy.log(numpy.abs(x)), result)
    return numpy.where(numpy.floor(x) == x, numpy.inf, result)


def digamma(x: Vector) -> Vector:
    """The derivative of lgamma; NaN at -1, -2, ..., infinite at 0."""
    return piecewise(
        x,
        (x == 0, lambda v: numpy.copysign(numpy.inf, -v)),
        (x > 0, _digamma_right),
        ((x < 0) & (numpy.floor(x) == x), lambda v: numpy.full_like(v, numpy.nan)),
        (x < 0, _digamma_left),
    )


def _digamma_left(x: Vector) -> Vector:
    rest = x - numpy.rint(x)
    return _digamma_right(1 - x) - numpy.pi / numpy.tan(numpy.pi * rest)


def _digamma_right(x: Vector) -> Vector:
    total = numpy.zeros_like(x)
    for _ in range(STEPS):
        low = x < STEPS
        total = numpy.where(low, total - 1 / x, total)
        x = numpy.where(low, x + 1, x)
    square = 1 / (x * x)
    return total + numpy.log(x) - 0.5 / x - square * horner(_DIGAMMA, square)


def zeta(s: Vector, q: Vector) -> Vector:
    """The sum of (q + k) ** -s over k = 0, 1, 2, ..."""
    whole = numpy.floor(q) == q
    return piecewise(
        s,
        (numpy.isnan(s) | numpy.isnan(q), lambda a, b: numpy.full_like(a, numpy.nan)),
        (s == 1, lambda a, b: numpy.full_like(a, numpy.inf)),
        ((s < 1) | (q == numpy.inf), lambda a, b: numpy.full_like(a, numpy.nan)),
        ((q <= 0) & whole, lambda a, b: numpy.full_like(a, numpy.inf)),
        (q > 0, _zeta_right),
        (numpy.floor(s) == s, _zeta_left),
        others=(q,),
    )


def _zeta_right(s: Vector, q: Vector) -> Vector:
    total = numpy.zeros_like(q)
    for step in range(STEPS):
        total += (q + step) ** -s
    end = q + STEPS
    last = end**-s
    total += end * last / (s - 1) + 0.5 * last
    factor = last * s / end
    for index, coefficient in enumerate(EULER):
        total += coefficient * factor
        factor = factor * (s + 2 * index + 1) * (s + 2 * index + 2) / (end * end)
    return numpy.where(last == 0, _few_terms(s, q), total)


def _few_terms(s: Vector, q: Vector) -> Vector:
    return sum((q + step) ** -s for step in range(STEPS))


def _zeta_left(s: Vector, q: Vector) -> Vector:
    """A negative q and a whole s: the terms before and after the sign change, apart."""
    crossed = numpy.ceil(-q)
    rest = q + crossed
    sign = numpy.where(numpy.fmod(s, 2) == 0, 1.0, -1.0)
    return _zeta_right(s, rest) + sign * (
        _zeta_right(s, 1 - rest) - _zeta_right(s, crossed + 1 - rest)
    )


def trigamma(x: Vector) -> Vector:
    """The second derivative of lgamma."""
    right = _zeta_right(numpy.full_like(x, 2), numpy.where(x < 0.5, 1 - x, x))
    around = numpy.pi / sine_of_pi(x)
    return numpy.where(x < 0.5, around * around - right, right)


def polygamma_of(n: int, x: Vector) -> Vector:
    """The derivative of digamma of order n."""
    if n == 0:
        return digamma(x)
    if n == 1:
        return trigamma(x)
    order = numpy.full_like(x, n + 1)
    factorial = numpy.exp(_lgamma_right(order)) if n > 20 else float(_factorial(n))
    return (1 if n % 2 else -1) * factorial * zeta(order, x)


def _factorial(n: int) -> int:
    result = 1
    for each in range(2, n + 1):
        result *= each
    return result


@rule("polygamma")
def polygamma(spec: TensorSpec, n: int, self: Any) -> Any:
    values = operand(self, spec.dtype).astype(numpy.float64).reshape(-1)
    return polygamma_of(n, values).reshape(spec.shape)


unary_rule("lgamma", lgamma)
unary_rule("digamma", digamma)
binary_rule("special_zeta", zeta)
