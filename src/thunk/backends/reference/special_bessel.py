"""NumPy rules of Bessel functions of orders 0 and 1, modified and spherical ones, and Airy's.

At infinity those without scaling are NaN, as in PyTorch, whose formulas meet 0 * inf there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy

from thunk.backends.reference import special_tables as tables
from thunk.backends.reference.special_series import Vector, fitted, piecewise, unary_rule

_NEAR = (tables.J0, tables.J1)
_SECOND = (tables.Y0, tables.Y1)
_WAVES = ((tables.P0, tables.Q0), (tables.P1, tables.Q1))
_GROWING = ((tables.I0_NEAR, tables.I0_FAR), (tables.I1_NEAR, tables.I1_FAR))
_DECAYING = ((tables.K0_NEAR, tables.K0_FAR), (tables.K1_NEAR, tables.K1_FAR))


def _constant(value: float) -> Callable[[Vector], Vector]:
    return lambda v: numpy.full_like(v, value)


def _wave(order: int, x: Vector, second: bool) -> Vector:
    """J or Y where x is at least 8: two amplitudes on a wave."""
    square = (8 / x) ** 2
    p = fitted(_WAVES[order][0], 0, 1, square)
    q = fitted(_WAVES[order][1], 0, 1, square) / x
    sine, cosine = numpy.sin(x), numpy.cos(x)
    # cos and sin of x - pi / 4, and for order 1 of x - 3 pi / 4, times sqrt(2)
    c, s = cosine + sine, sine - cosine
    if order == 1:
        c, s = s, -c
    found = p * s + q * c if second else p * c - q * s
    return found / numpy.sqrt(numpy.pi * x)


def _j_near(order: int, x: Vector) -> Vector:
    found = fitted(_NEAR[order], 0, 64, x * x)
    return found if order == 0 else x * found


def bessel_j(order: int) -> Callable[[Vector], Vector]:
    """The Bessel function of the first kind."""

    def function(x: Vector) -> Vector:
        size = numpy.abs(x)
        found = piecewise(
            size,
            (size <= 8, lambda v: _j_near(order, v)),
            (size > 8, lambda v: _wave(order, v, second=False)),
        )
        return found if order == 0 else found * numpy.sign(x)

    return function


def _y_near(order: int, x: Vector) -> Vector:
    rest = fitted(_SECOND[order], 0, 64, x * x)
    main = 2 / numpy.pi * numpy.log(x) * _j_near(order, x)
    return rest + main if order == 0 else x * rest + main - 2 / (numpy.pi * x)


def bessel_y(order: int) -> Callable[[Vector], Vector]:
    """The Bessel function of the second kind; NaN below zero."""

    def function(x: Vector) -> Vector:
        return piecewise(
            x,
            (x == 0, _constant(-numpy.inf)),
            ((x > 0) & (x <= 8), lambda v: _y_near(order, v)),
            (x > 8, lambda v: _wave(order, v, second=True)),
        )

    return function


def scaled_i(order: int) -> Callable[[Vector], Vector]:
    """exp(-|x|) times the modified Bessel function of the first kind."""
    near, far = _GROWING[order]

    def function(x: Vector) -> Vector:
        size = numpy.abs(x)
        found = piecewise(
            size,
            (size <= 8, lambda v: fitted(near, 0, 8, v) * (v if order else 1)),
            (size > 8, lambda v: fitted(far, 0, 0.125, 1 / v) / numpy.sqrt(v)),
        )
        return found * numpy.sign(x) if order else found

    return function


def modified_i(order: int) -> Callable[[Vector], Vector]:
    """The modified Bessel function of the first kind."""
    scaled = scaled_i(order)

    def function(x: Vector) -> Vector:
        half = numpy.exp(numpy.abs(x) / 2)  # twice, so that it overflows only with the result
        return scaled(x) * half * half

    return function


def modified_k(order: int, scaled: bool) -> Callable[[Vector], Vector]:
    """The modified Bessel function of the second kind, or exp(x) times it; NaN below zero."""
    near, far = _DECAYING[order]
    growing = modified_i(order)

    def close(x: Vector) -> Vector:
        rest = fitted(near, 0, 4, x * x)
        logarithm = numpy.log(x / 2) * growing(x)
        found = rest - logarithm if order == 0 else x * rest + logarithm + 1 / x
        return found * numpy.exp(x) if scaled else found

    def distant(x: Vector) -> Vector:
        found = fitted(far, 0, 0.5, 1 / x) / numpy.sqrt(x)
        return found if scaled else found * numpy.exp(-x)

    def function(x: Vector) -> Vector:
        return piecewise(
            x,
            (x == 0, _constant(numpy.inf)),
            ((x > 0) & (x <= 2), close),
            (x > 2, distant),
        )

    return function


def spherical_j0(x: Vector) -> Vector:
    """sin(x) / x, precise at zero and 0 at infinity."""
    return piecewise(
        x,
        (numpy.isinf(x), _constant(0.0)),
        (numpy.abs(x) < 0.05, lambda v: _spherical_near(v * v)),
        (numpy.abs(x) >= 0.05, lambda v: numpy.sin(v) / v),
    )


def _spherical_near(square: Vector) -> Vector:
    return 1 - square / 6 * (1 - square / 20 * (1 - square / 42))


def airy_ai(x: Vector) -> Vector:
    """Airy's function Ai."""
    return piecewise(
        x,
        (numpy.isinf(x), _constant(numpy.nan)),
        (x < -4, _airy_wave),
        (x <= 1, lambda v: fitted(tables.AIRY_NEAR, -4, 1, v)),
        (x > 1, _airy_decay),
    )


def _airy_wave(x: Vector) -> Vector:
    zeta = 2 / 3 * (-x) ** 1.5
    square = 1 / (zeta * zeta)
    p = fitted(tables.AIRY_P, 0, 0.0352, square)
    q = fitted(tables.AIRY_Q, 0, 0.0352, square) / zeta
    phase = zeta - numpy.pi / 4
    wave = p * numpy.cos(phase) + q * numpy.sin(phase)
    return wave / (numpy.sqrt(numpy.pi) * (-x) ** 0.25)


def _airy_decay(x: Vector) -> Vector:
    zeta = 2 / 3 * x**1.5
    size = fitted(tables.AIRY_DECAY, 0, 1.5, 1 / zeta)
    return size * numpy.exp(-zeta) / (2 * numpy.sqrt(numpy.pi) * x**0.25)


for _order in (0, 1):
    unary_rule(f"special_bessel_j{_order}", bessel_j(_order))
    unary_rule(f"special_bessel_y{_order}", bessel_y(_order))
    unary_rule(f"special_i{_order}e", scaled_i(_order))
    unary_rule(f"special_modified_bessel_i{_order}", modified_i(_order))
    unary_rule(f"special_modified_bessel_k{_order}", modified_k(_order, scaled=False))
    unary_rule(f"special_scaled_modified_bessel_k{_order}", modified_k(_order, scaled=True))
unary_rule("i0", modified_i(0))
unary_rule("special_i1", modified_i(1))
unary_rule("special_spherical_bessel_j0", spherical_j0)
unary_rule("special_airy_ai", airy_ai)
