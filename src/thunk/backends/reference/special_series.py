"""Enters: a vectorised function of doubles. Leaves: an operator's rule; and sums that many share.

Invariant: special functions are computed in double precision on flat arrays and rounded once to the
result's dtype. They choose by `piecewise` and loop by `repeated`: the CPU compiler runs them on
operands of its own and writes down what NumPy is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.pointwise_operands import operand
from thunk.types.spec import TensorSpec

Vector = Any  # a flat array of doubles; arithmetic on arrays has type Any
FUNCTIONS: dict[str, tuple[int, Callable[..., Vector]]] = {}  # operands, function; by operator


def unary_rule(name: str, function: Callable[[Vector], Vector]) -> None:
    """Register `function` of one flat array of doubles as the rule of `name`."""
    FUNCTIONS[name] = (1, function)

    def apply(spec: TensorSpec, self: Any) -> Any:
        values = operand(self, spec.dtype)
        flat = values.astype(numpy.float64).reshape(-1)
        return function(flat).reshape(spec.shape)

    rule(name)(apply)


def binary_rule(name: str, function: Callable[[Vector, Vector], Vector]) -> None:
    """Register `function` of two flat arrays of doubles as the rule of `name`."""
    FUNCTIONS[name] = (2, function)

    def apply(spec: TensorSpec, self: Any, other: Any) -> Any:
        pair = [operand(each, spec.dtype).astype(numpy.float64) for each in (self, other)]
        left, right = numpy.broadcast_arrays(*pair)
        return function(left.reshape(-1), right.reshape(-1)).reshape(spec.shape)

    rule(name)(apply)


def chebyshev(coefficients: Vector, t: Vector) -> Vector:
    """The Chebyshev series at `t` in [-1, 1], by Clenshaw's recurrence."""
    twice = t + t
    first, second = numpy.zeros_like(t), numpy.zeros_like(t)
    for coefficient in coefficients[:0:-1]:
        first, second = twice * first - second + coefficient, first
    return t * first - second + coefficients[0]


def fitted(coefficients: Vector, low: float, high: float, x: Vector) -> Vector:
    """The series whose variable runs from `low` to `high`; clipped to them."""
    t = (2 * x - (low + high)) / (high - low)
    return chebyshev(coefficients, numpy.clip(t, -1, 1))


def horner(coefficients: Any, x: Vector) -> Vector:
    """The polynomial with these coefficients, the constant first."""
    result = numpy.zeros_like(x)
    for coefficient in coefficients[::-1]:
        result = result * x + coefficient
    return result


def piecewise(x: Vector, *cases: tuple[Any, Callable[..., Vector]], others: Any = ()) -> Vector:
    """Each element by the first case whose mask holds; NaN where none does."""
    if not isinstance(x, numpy.ndarray):  # a compiler asks for code
        return x.piecewise(cases, others)
    result = numpy.full(x.shape, numpy.nan)
    open_places = numpy.ones(x.shape, bool)
    for mask, function in cases:
        here = mask & open_places
        if here.any():
            result[here] = function(x[here], *[each[here] for each in others])
        open_places &= ~mask
    return result


def repeated(step: Callable[..., Any], state: Any, first: int, most: int) -> Any:
    """`step(k, *state)` gives the next state and which elements are unfinished; k from `first` to
    below `most`, while one is."""
    if not isinstance(state[0], numpy.ndarray):
        return state[0].repeated(step, state, first, most)
    for k in range(first, most):
        state, unfinished = step(k, *state)
        if not unfinished.any():
            break
    return state


def sine_of_pi(x: Vector) -> Vector:
    """sin(pi * x), exactly 0 at whole numbers."""
    nearest = numpy.rint(x)
    rest = x - nearest
    odd = numpy.fmod(nearest, 2) != 0
    return numpy.where(odd, -1.0, 1.0) * numpy.sin(numpy.pi * rest)


def exp_minus_square(x: Vector) -> Vector:
    """exp(-x * x) without the rounding error of the square, which exp would magnify."""
    near = numpy.clip(x, -1e4, 1e4)
    high = numpy.trunc(near * 1024) / 1024  # few bits, so that its square is exact
    return numpy.exp(-high * high) * numpy.exp(-(near - high) * (near + high))
