"""NumPy rules of the error function, its relatives and their inverses."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference import special_tables as tables
from thunk.backends.reference.special_series import (
    Vector,
    chebyshev,
    exp_minus_square,
    fitted,
    piecewise,
    unary_rule,
)

_ROOT2 = numpy.sqrt(2.0)


def _erf_near(x: Vector) -> Vector:
    """erf where |x| is at most 1."""
    return x * fitted(tables.ERF, 0, 1, x * x)


def _erfcx_right(x: Vector) -> Vector:
    """erfcx where x is not negative."""
    finite = numpy.minimum(x, 1e300)
    t = (finite - 3) / (finite + 3)
    result = chebyshev(tables.ERFCX, t) / (finite + 3)
    return numpy.where(numpy.isinf(x), 0.0, result)


def erf(x: Any) -> Any:
    """The error function of an array of doubles."""
    return _shaped(_erf, x)


def erfc(x: Any) -> Any:
    """1 - erf(x), precise where that is tiny, of an array of doubles."""
    return _shaped(flat_erfc, x)


def _shaped(function: Any, x: Any) -> Any:
    values = numpy.asarray(x, numpy.float64)
    return function(values.reshape(-1)).reshape(values.shape)


def _erf(x: Vector) -> Vector:
    size = numpy.abs(x)
    return piecewise(
        x,
        (size <= 1, _erf_near),
        (size > 1, lambda v: numpy.copysign(1 - _erfc_tail(numpy.abs(v)), v)),
    )


def _erfc_tail(x: Vector) -> Vector:
    """erfc where x is not negative."""
    return exp_minus_square(x) * _erfcx_right(x)


def flat_erfc(x: Vector) -> Vector:
    """1 - erf(x) of a flat array."""
    return piecewise(
        x,
        (numpy.abs(x) < 0.5, lambda v: 1 - _erf_near(v)),
        (x > 0, _erfc_tail),
        (x < 0, lambda v: 2 - _erfc_tail(-v)),
    )


def erfcx(x: Vector) -> Vector:
    """exp(x * x) * erfc(x)."""
    return piecewise(
        x,
        (x >= 0, _erfcx_right),
        (x < -26.7, lambda v: numpy.full_like(v, numpy.inf)),
        (x < 0, lambda v: 2 / exp_minus_square(v) - _erfcx_right(-v)),
    )


def erfcinv(p: Vector) -> Vector:
    """The x with erfc(x) = p, for p in (0, 0.5]."""
    s = numpy.sqrt(-numpy.log(p))
    return s * piecewise(
        s,
        (s < 2.5, lambda v: fitted(tables.ERFCINV_NEAR, 0.8, 2.5, v)),
        (s < 7, lambda v: fitted(tables.ERFCINV_MIDDLE, 2.5, 7, v)),
        (s >= 7, lambda v: fitted(tables.ERFCINV_FAR, 7, 28, v)),
    )


def erfinv(y: Vector) -> Vector:
    """The x with erf(x) = y; NaN outside [-1, 1]."""
    size = numpy.abs(y)
    return piecewise(
        y,
        (size <= 0.5, lambda v: v * fitted(tables.ERFINV, 0, 0.25, v * v)),
        (size < 1, lambda v: numpy.copysign(erfcinv(1 - numpy.abs(v)), v)),
        (size == 1, lambda v: v * numpy.inf),
    )


def ndtri(p: Vector) -> Vector:
    """The quantile of the normal distribution."""
    return piecewise(
        p,
        (p == 0, lambda v: numpy.full_like(v, -numpy.inf)),
        (p == 1, lambda v: numpy.full_like(v, numpy.inf)),
        ((p > 0) & (p < 0.25), lambda v: -_ROOT2 * erfcinv(2 * v)),
        ((p >= 0.25) & (p <= 0.75), lambda v: _ROOT2 * erfinv(2 * v - 1)),
        ((p > 0.75) & (p < 1), lambda v: _ROOT2 * erfcinv(2 * (1 - v))),
    )


def log_ndtr(x: Vector) -> Vector:
    """The logarithm of the normal distribution's function."""
    return piecewise(
        x,
        (x < -1, lambda v: numpy.log(erfcx(-v / _ROOT2) / 2) - v * v / 2),
        (x >= -1, lambda v: numpy.log1p(-flat_erfc(v / _ROOT2) / 2)),
    )


unary_rule("erf", _erf)
unary_rule("erfc", flat_erfc)
unary_rule("erfinv", erfinv)
unary_rule("special_erfcx", erfcx)
unary_rule("special_ndtri", ndtri)
unary_rule("special_log_ndtr", log_ndtr)
