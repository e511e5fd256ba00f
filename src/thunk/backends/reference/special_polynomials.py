"""NumPy rules of the orthogonal polynomials, by their three-term recurrences.

In: x and the degree n, which is cut to a whole number. Degrees below zero give 0. Inside (-1, 1)
Chebyshev's polynomials of a high degree are waves in the angle, so they cost no recurrence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from thunk.backends.reference.special_series import Vector, binary_rule, piecewise, repeated

Step = Callable[[Vector, Vector, Vector, Any], Vector]
_HIGH_DEGREE = 8
_HIGHEST_DEGREE = 1 << 62  # the loop ends by what it counts
_HERMITE_LIMIT = 512  # beyond it PyTorch gives NaN


def recurrence(x: Vector, n: Vector, linear: Vector, step: Step) -> Vector:
    """The polynomial of degree n, from those of degree 0 (one) and 1 (`linear`)."""

    def advanced(degree: Any, previous: Vector, current: Vector) -> Any:
        active = (n > degree) & (n < numpy.inf) & ~numpy.isnan(current)
        following = step(x, previous, current, degree)
        pair = numpy.where(active, current, previous), numpy.where(active, following, current)
        return pair, active

    start = (numpy.ones_like(x), linear)
    _, current = repeated(advanced, start, 1, _HIGHEST_DEGREE)
    result = numpy.where((n < 0) | numpy.isinf(n), 0.0, numpy.where(n == 0, 1.0, current))
    return numpy.where(numpy.isnan(current) & (n > 0), numpy.nan, result)


def _chebyshev_step(x: Vector, previous: Vector, current: Vector, degree: Any) -> Vector:
    return (x + x) * current - previous


def _alternating(n: Vector) -> Vector:
    return numpy.where(numpy.fmod(n, 2) == 0, 1.0, -1.0)


def _wave_t(x: Vector, n: Vector) -> Vector:
    return numpy.cos(n * numpy.arccos(x))


def _wave_u(x: Vector, n: Vector) -> Vector:
    angle = numpy.arccos(x)
    return numpy.sin((n + 1) * angle) / numpy.sin(angle)


def _wave_v(x: Vector, n: Vector) -> Vector:
    angle = numpy.arccos(x)
    return numpy.cos((n + 0.5) * angle) / numpy.cos(angle / 2)


def _wave_w(x: Vector, n: Vector) -> Vector:
    angle = numpy.arccos(x)
    return numpy.sin((n + 0.5) * angle) / numpy.sin(angle / 2)


class _Kind:
    """What distinguishes the four kinds: degree one, the values at 1 and -1, the wave inside."""

    def __init__(
        self, shift: int, right: Callable[[Vector], Any], left: Callable[[Vector], Any],
        wave: Callable[[Vector, Vector], Vector],
    ) -> None:  # fmt: skip
        self.shift = shift
        self.right = right
        self.left = left
        self.wave = wave

    def linear(self, x: Vector) -> Vector:
        """Degree one: T is x, U is 2x, V is 2x - 1, W is 2x + 1."""
        return x if self.wave is _wave_t else x + x + self.shift


_KINDS = {
    "t": _Kind(0, lambda n: numpy.ones_like(n), _alternating, _wave_t),
    "u": _Kind(0, lambda n: n + 1, lambda n: _alternating(n) * (n + 1), _wave_u),
    "v": _Kind(-1, lambda n: numpy.ones_like(n), lambda n: _alternating(n) * (2 * n + 1), _wave_v),
    "w": _Kind(1, lambda n: 2 * n + 1, _alternating, _wave_w),
}


def chebyshev_polynomial(kind: _Kind, shifted: bool) -> Callable[[Vector, Vector], Vector]:
    """Chebyshev's polynomials of one kind, on [-1, 1] or shifted to [0, 1]."""

    def function(x: Vector, n: Vector) -> Vector:
        n = numpy.trunc(n)
        if shifted:
            x = x + x - 1
        return piecewise(
            x,
            (n < 0, lambda v, m: numpy.zeros_like(v)),
            (x == 1, lambda v, m: kind.right(m)),
            (x == -1, lambda v, m: kind.left(m)),
            ((n > _HIGH_DEGREE) & (numpy.abs(x) < 1), kind.wave),
            (n >= 0, lambda v, m: recurrence(v, m, kind.linear(v), _chebyshev_step)),
            others=(n,),
        )

    return function


def hermite_h(x: Vector, n: Vector) -> Vector:
    """The physicist's Hermite polynomials."""
    n = numpy.trunc(n)
    found = recurrence(
        x, numpy.minimum(n, _HERMITE_LIMIT + 1), x + x,
        lambda v, previous, current, k: (v + v) * current - 2 * k * previous,
    )  # fmt: skip
    return numpy.where(n > _HERMITE_LIMIT, numpy.nan, found)


def hermite_he(x: Vector, n: Vector) -> Vector:
    """The probabilist's Hermite polynomials."""
    n = numpy.trunc(n)
    found = recurrence(
        x, numpy.minimum(n, _HERMITE_LIMIT + 1), x,
        lambda v, previous, current, k: v * current - k * previous,
    )  # fmt: skip
    return numpy.where(n > _HERMITE_LIMIT, numpy.nan, found)


def laguerre_l(x: Vector, n: Vector) -> Vector:
    """Laguerre's polynomials."""
    return recurrence(
        x, numpy.trunc(n), 1 - x,
        lambda v, previous, current, k: ((2 * k + 1 - v) * current - k * previous) / (k + 1),
    )  # fmt: skip


def legendre_p(x: Vector, n: Vector) -> Vector:
    """Legendre's polynomials."""
    n = numpy.trunc(n)
    found = recurrence(
        x, n, x,
        lambda v, previous, current, k: ((2 * k + 1) * v * current - k * previous) / (k + 1),
    )  # fmt: skip
    at_ends = numpy.where(x > 0, 1.0, _alternating(n))
    return numpy.where((numpy.abs(x) == 1) & (n >= 0), at_ends, found)


for _name, _kind in _KINDS.items():
    binary_rule(f"special_chebyshev_polynomial_{_name}", chebyshev_polynomial(_kind, False))
    binary_rule(f"special_shifted_chebyshev_polynomial_{_name}", chebyshev_polynomial(_kind, True))
binary_rule("special_hermite_polynomial_h", hermite_h)
binary_rule("special_hermite_polynomial_he", hermite_he)
binary_rule("special_laguerre_polynomial_l", laguerre_l)
binary_rule("special_legendre_polynomial_p", legendre_p)
