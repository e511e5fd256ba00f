"""NumPy rules of the derivatives of samples by the parameters of their distribution.

A sample x of rank F(x; a) moves by -(dF/da) / (dF/dx) when a does. The quotient is an integral over
the tail that x cuts off, here over v in `t = x exp(-v)` (of odds, for beta): what is integrated is
a slow function of v times the exponential of a falling one, for any parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.special_gamma import digamma
from thunk.types.spec import TensorSpec

Vector = numpy.ndarray
Function = Callable[[Vector], Vector]

_NODES = 320
_SPAN = 56.0  # how far below the end the logarithms of the nodes begin
_VANISHED = 46.0  # exp(-46) is below the precision of a double
_BLOCK = 1024
_TINY = 1e-290


def _area(weight: Function, exponent: Function, bound: Vector) -> Vector:
    """The integral of `weight(v) * exp(exponent(v))` over v > 0.

    The exponential has vanished before `bound`; nodes lie evenly in log v, where the trapezoid
    rule converges exponentially.
    """
    step = _SPAN / (_NODES - 1)
    places = numpy.exp(numpy.linspace(-_SPAN, 0.0, _NODES))[:, None]
    nodes = _end(exponent, bound) * places
    heights = weight(nodes) * numpy.exp(exponent(nodes)) * nodes
    total: Vector = step * (heights.sum(0) - 0.5 * (heights[0] + heights[-1]))
    return total


def _end(exponent: Function, bound: Vector) -> Vector:
    """Where the exponential vanishes, found by halving in the logarithm."""
    low, high = numpy.log(bound) - _SPAN, numpy.log(bound)
    for _ in range(30):
        middle = 0.5 * (low + high)
        gone = exponent(numpy.exp(middle)) < -_VANISHED
        low, high = numpy.where(gone, low, middle), numpy.where(gone, middle, high)
    found: Vector = numpy.exp(high)
    return found


def _gamma_slope(alpha: Vector, x: Vector) -> Vector:
    x = numpy.maximum(x, _TINY)
    below = x < alpha
    slope = numpy.empty_like(x)
    slope[below] = _gamma_lower(alpha[below], x[below])
    slope[~below] = _gamma_upper(alpha[~below], x[~below])
    return slope


def _gamma_lower(alpha: Vector, x: Vector) -> Vector:
    offset = digamma(alpha) - numpy.log(x)
    slope: Vector = x * _area(
        lambda v: offset + v,
        lambda v: -alpha * v - x * numpy.expm1(-v),
        (x + _VANISHED) / alpha,
    )
    return slope


def _gamma_upper(alpha: Vector, x: Vector) -> Vector:
    """Over `t = x + v` here."""
    offset = digamma(alpha)
    return _area(
        lambda v: numpy.log(x + v) - offset,
        lambda v: (alpha - 1) * numpy.log1p(v / x) - v,
        _VANISHED + numpy.sqrt(_VANISHED * (_VANISHED + 2 * x)),
    )


def _beta_slope(x: Vector, alpha: Vector, total: Vector) -> Vector:
    """For beta samples of concentrations `alpha` and `total - alpha`, over `1 - x`."""
    x = numpy.clip(x, _TINY, 1 - 1e-16)
    below = x * total < alpha
    inner = numpy.where(below, x, 1.0 - x)
    rate = numpy.where(below, alpha, total - alpha)
    sign = numpy.where(below, 1.0, -1.0)
    offset = digamma(alpha) - digamma(total) - numpy.log(x)

    def moved(v: Vector) -> Vector:
        """By how much the logarithm of the odds' denominator falls."""
        found: Vector = -numpy.log1p(inner * numpy.expm1(-v))
        return found

    slope: Vector = x * _area(
        lambda v: sign * (offset - moved(v) + numpy.where(below, v, 0.0)),
        lambda v: total * moved(v) - rate * v,
        (_VANISHED - total * numpy.log1p(-inner)) / rate,
    )
    return slope


def _in_blocks(function: Callable[..., Vector], *operands: Any) -> Vector:
    flat = [numpy.asarray(each, numpy.float64).reshape(-1) for each in operands]
    found = numpy.empty_like(flat[0])
    for start in range(0, found.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        found[part] = function(*[each[part] for each in flat])
    return found.reshape(numpy.shape(operands[0]))


@rule("_standard_gamma_grad", half="float32")
def standard_gamma_grad(spec: TensorSpec, self: Any, output: Any) -> Any:
    return _in_blocks(_gamma_slope, self, output)


@rule("_dirichlet_grad", half="float32")
def dirichlet_grad(spec: TensorSpec, x: Any, alpha: Any, total: Any) -> Any:
    return _in_blocks(_beta_slope, x, alpha, total)
