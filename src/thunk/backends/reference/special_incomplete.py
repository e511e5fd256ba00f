"""NumPy rules of the regularised incomplete gamma functions P (igamma) and Q (igammac).

Below 200, P by its series and Q by its continued fraction, whichever is the small one; near the
diagonal above, Temme's expansion, which is uniform in both arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from thunk.backends.reference.special_errors import flat_erfc
from thunk.backends.reference.special_gamma import STIRLING, lgamma
from thunk.backends.reference.special_series import (
    Vector,
    binary_rule,
    horner,
    piecewise,
    repeated,
)
from thunk.backends.reference.special_tables import TEMME

_EPSILON = 2.0**-53
_MOST_TERMS = 20000


def _log1p_minus(x: Vector) -> Vector:
    """log1p(x) - x, precise near zero."""
    # log1p(x) = 2 atanh(r) with r = x / (2 + x), whose series starts with x - r x.
    r = x / (2 + x)
    square = r * r
    series = horner([2 / (2 * k + 3) for k in range(18)], square)
    near = r * (square * series - x)
    return numpy.where(numpy.abs(x) < 0.5, near, numpy.log1p(x) - x)


def _front(a: Vector, x: Vector) -> Vector:
    """x ** a * exp(-x) / gamma(a + 1)."""
    direct = numpy.exp(a * numpy.log(x) - x - lgamma(a + 1))
    large = numpy.maximum(a, 10)
    exponent = large * _log1p_minus((x - large) / large)
    correction = horner(STIRLING, 1 / (large * large)) / large
    stirling = numpy.exp(exponent - correction) / numpy.sqrt(2 * numpy.pi * large)
    return numpy.where(a < 10, direct, stirling)


def _lower_series(a: Vector, x: Vector) -> Vector:
    """P by its power series."""
    def step(k: Any, total: Vector, term: Vector) -> Any:
        term = term * (x / (a + k))
        total = total + term
        return (total, term), term > total * _EPSILON

    first = numpy.ones_like(a)
    total, _ = repeated(step, (first, first), 1, _MOST_TERMS)
    return _front(a, x) * total


def _upper_fraction(a: Vector, x: Vector) -> Vector:
    """Q by its continued fraction, in Lentz's form."""
    tiny = 1e-300
    b = x + 1 - a

    def step(k: Any, c: Vector, d: Vector, value: Vector) -> Any:
        numerator = -k * (k - a)
        below = b + 2 * k
        d = numerator * d + below
        c = below + numerator / c
        d = 1 / numpy.where(numpy.abs(d) < tiny, tiny, d)
        c = numpy.where(numpy.abs(c) < tiny, tiny, c)
        change = c * d
        return (c, d, value * change), numpy.abs(change - 1) > _EPSILON * 2

    start = 1 / numpy.where(b == 0, tiny, b)
    state = (numpy.full_like(a, 1 / tiny), start, start)
    *_, value = repeated(step, state, 1, _MOST_TERMS)
    return _front(a, x) * a * value


def _upper_series(a: Vector, x: Vector) -> Vector:
    """Q for a small x and a tiny a, where 1 - P would cancel."""
    total, power = numpy.zeros_like(a), numpy.ones_like(a)
    for n in range(1, 40):
        power = power * (-x / n)
        total += power / (a + n)
    exponent = a * numpy.log(x)
    log_gamma = lgamma(1 + a)
    return -numpy.expm1(exponent - log_gamma) - numpy.exp(exponent - log_gamma) * a * total


def _temme(a: Vector, x: Vector, upper: bool) -> Vector:
    """P or Q where both arguments are large and near each other."""
    distance = (x - a) / a
    half_square = -_log1p_minus(distance)
    eta = numpy.copysign(numpy.sqrt(2 * half_square), distance)
    rest = numpy.zeros_like(a)
    for row in TEMME[::-1]:
        rest = rest / a + horner(row, eta)
    rest = rest * numpy.exp(-a * half_square) / numpy.sqrt(2 * numpy.pi * a)
    sign = 1.0 if upper else -1.0
    return 0.5 * flat_erfc(sign * eta * numpy.sqrt(a / 2)) + sign * rest


def _near_diagonal(a: Vector, x: Vector) -> Vector:
    return (a > 200) & (numpy.abs(x - a) < 0.35 * a)


def _constant(value: float) -> Callable[[Vector, Vector], Vector]:
    return lambda a, x: numpy.full_like(a, value)


def igamma(a: Vector, x: Vector) -> Vector:
    """The regularised lower incomplete gamma function."""
    return _incomplete(a, x, upper=False)


def igammac(a: Vector, x: Vector) -> Vector:
    """The regularised upper incomplete gamma function."""
    return _incomplete(a, x, upper=True)


def _incomplete(a: Vector, x: Vector, upper: bool) -> Vector:
    at_zero, at_infinity = (1.0, 0.0) if upper else (0.0, 1.0)
    nan = numpy.isnan(a) | numpy.isnan(x) | (a < 0) | (x < 0)
    nan |= (numpy.isinf(a) & numpy.isinf(x)) | ((a == 0) & (x == 0))
    small_gap = (x <= 1.1) & numpy.where(x <= 0.5, -0.4 / numpy.log(x) >= a, x * 1.1 >= a)

    def from_lower(one: Vector, other: Vector) -> Vector:
        found = _lower_series(one, other)
        return 1 - found if upper else found

    def from_upper(one: Vector, other: Vector) -> Vector:
        found = _upper_fraction(one, other)
        return found if upper else 1 - found

    def from_gap(one: Vector, other: Vector) -> Vector:
        return _upper_series(one, other) if upper else _lower_series(one, other)

    return piecewise(
        a,
        (nan, _constant(numpy.nan)),
        (a == 0, _constant(at_infinity)),
        ((x == 0) | numpy.isinf(a), _constant(at_zero)),
        (numpy.isinf(x), _constant(at_infinity)),
        (_near_diagonal(a, x), lambda one, other: _temme(one, other, upper)),
        (small_gap, from_gap),
        (x <= a + 1, from_lower),
        (x > a + 1, from_upper),
        others=(x,),
    )


binary_rule("igamma", igamma)
binary_rule("igammac", igammac)
