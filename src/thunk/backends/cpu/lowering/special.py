"""Special functions by the code of their reference rules; derivatives of digamma.

The latter are sums of powers, computed in float64.
"""

from __future__ import annotations

import math
from typing import Any

from thunk.backends.cpu.llvm.math.traced import special_functions
from thunk.backends.cpu.lowering.pointwise import Body, Operands, pointwise
from thunk.backends.reference.special_gamma import EULER, STEPS
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import Unsupported
from thunk.ir.graph import Value
from thunk.types import dtype as d


def _by_rule(name: str) -> Body:
    def body(to: Operands, self: Any, *others: Any) -> Expression:
        return to(self).math(name, *[to(each) for each in others])

    return body


for _name in special_functions:
    pointwise(_name, needs=_name)(_by_rule(_name))

HIGHEST_ORDER = 8  # beyond it the sums are long and nobody asks


def _power(value: Expression, exponent: int) -> Expression:
    """A whole power, by squaring."""
    result: Expression | None = None
    while exponent:
        if exponent & 1:
            result = value if result is None else result * value
        exponent >>= 1
        if exponent:
            value = value * value
    assert result is not None
    return result


def _sum_of_powers(s: int, q: Expression) -> Expression:
    """The sum of (q + k) ** -s over k = 0, 1, 2, ... for q > 0 and a whole s > 1."""
    total = 1 / _power(q, s)
    for step in range(1, STEPS):
        total = total + 1 / _power(q + float(step), s)
    end = q + float(STEPS)
    last = 1 / _power(end, s)
    total = total + (end * last / float(s - 1) + last * 0.5)
    factor = last * float(s) / end
    square = end * end
    for index, coefficient in enumerate(EULER):
        total = total + factor * float(coefficient)
        factor = factor * float((s + 2 * index + 1) * (s + 2 * index + 2)) / square
    return total


def _trigamma(x: Expression) -> Expression:
    left = x < 0.5
    right = _sum_of_powers(2, left.where(1.0 - x, x))
    around = math.pi / ((x - x.unary("rint")) * math.pi).math("sin")
    return left.where(around * around - right, right)


def _zeta(s: int, q: Expression) -> Expression:
    """For a negative q the terms before and after the sign change are summed apart."""
    left = q <= 0
    crossed = (-q).unary("ceil")
    rest = left.where(q + crossed, q)
    sign = 1.0 if s % 2 == 0 else -1.0
    mirrored = _sum_of_powers(s, 1.0 - rest) - _sum_of_powers(
        s, left.where(crossed, 0.0) + 1.0 - rest
    )
    found = _sum_of_powers(s, rest)
    found = left.where(found + mirrored * sign, found)
    whole = left & q.unary("floor").eq(q)
    return whole.where(math.inf, q.eq(math.inf).where(math.nan, found))


@pointwise("polygamma", needs="sin digamma")
def polygamma(to: Operands, n: int, self: Value) -> Expression:
    if n > HIGHEST_ORDER:
        raise Unsupported("a high derivative")
    value = to(self)
    if n == 0:
        return value.math("digamma")
    wide = value.to(d.float64)
    if n == 1:
        return _trigamma(wide).to(value.dtype)
    scale = float(math.factorial(n)) * (1.0 if n % 2 else -1.0)
    return (_zeta(n + 1, wide) * scale).to(value.dtype)
