"""Powers, roots, exponentials, logarithms, circular and hyperbolic functions, rounding, signs."""

from __future__ import annotations

from typing import Any

from thunk.backends.cpu.lowering.pointwise import Body, Operands, pointwise
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import Unsupported
from thunk.types.dtype import BOOL

MATHEMATICS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma",
    "digamma",
)  # fmt: skip


def _function(name: str) -> Body:
    def body(to: Operands, self: Any) -> Expression:
        return to(self).math(name)

    return body


for _name in MATHEMATICS:
    pointwise(_name, needs=_name)(_function(_name))


@pointwise("atan2", needs="atan2")
def atan2(to: Operands, self: Any, other: Any) -> Expression:
    return to(self).math("atan2", to(other))


@pointwise("hypot", needs="hypot")
def hypot(to: Operands, self: Any, other: Any) -> Expression:
    return to(self).math("hypot", to(other))


@pointwise("sqrt")
def sqrt(to: Operands, self: Any) -> Expression:
    return to(self).unary("sqrt")


@pointwise("rsqrt")
def rsqrt(to: Operands, self: Any) -> Expression:
    return 1 / to(self).unary("sqrt")


@pointwise("pow.Tensor_Tensor")
def power(to: Operands, self: Any, exponent: Any) -> Expression:
    base = to(self)
    if isinstance(exponent, (bool, int, float)):
        short = _fixed_power(base, exponent)
        if short is not None:
            return short
    if not base.dtype.is_floating_point:
        raise Unsupported("an integer power that is not fixed")
    to.at.math_known("pow")
    return base.math("pow", to(exponent))


def _fixed_power(base: Expression, exponent: float) -> Expression | None:
    """Powers that PyTorch computes by products and roots."""
    floating = base.dtype.is_floating_point
    if base.dtype.category == BOOL:
        return None
    if exponent == 1:
        return base
    if exponent == 2:
        return base * base
    if exponent == 3:
        return base * base * base
    if floating:
        if exponent == 0.5:
            return base.unary("sqrt")
        if exponent == -0.5:
            return 1 / base.unary("sqrt")
        if exponent == -1:
            return 1 / base
        return 1 / (base * base) if exponent == -2 else None
    return _whole_power(base, int(exponent)) if exponent >= 0 else None


def _whole_power(base: Expression, exponent: int) -> Expression:
    """By squaring; integers wrap alike in any order."""
    result: Expression | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return base.maker.constant(1, base.dtype) if result is None else result


def _rounding(op: str) -> Body:
    def body(to: Operands, self: Any) -> Expression:
        value = to(self)
        return value.unary(op) if value.dtype.is_floating_point else value

    return body


for _name, _op in {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint"}.items():
    pointwise(_name)(_rounding(_op))


@pointwise("frac")
def frac(to: Operands, self: Any) -> Expression:
    return to(self) - to(self).unary("trunc")


@pointwise("abs")
def absolute(to: Operands, self: Any) -> Expression:
    value = to(self)
    return value if value.dtype.category == BOOL else value.unary("abs")


@pointwise("sign", "sgn")
def sign(to: Operands, self: Any) -> Expression:
    value = to(self)
    if value.dtype.category == BOOL:
        return value
    if not value.dtype.is_signed:
        return value.ne(0).to(value.dtype)
    return (value > 0).to(value.dtype) - (value < 0).to(value.dtype)


@pointwise("copysign.Tensor")
def copysign(to: Operands, self: Any, other: Any) -> Expression:
    return to(self).copysign(to(other))


@pointwise("xlogy.Tensor", needs="log")
def xlogy(to: Operands, self: Any, other: Any) -> Expression:
    return _times(to(self), to(other), "log")


@pointwise("special_xlog1py", needs="log1p")
def xlog1py(to: Operands, self: Any, other: Any) -> Expression:
    return _times(to(self), to(other), "log1p")


@pointwise("special_entr", needs="log")
def entr(to: Operands, self: Any) -> Expression:
    value = to(self)
    return (value < 0).where(float("-inf"), -_times(value, value, "log"))


def _times(factor: Expression, argument: Expression, name: str) -> Expression:
    product = factor * argument.math(name)
    return (factor.eq(0) & argument.eq(argument)).where(0, product)


def _log_of_sum(left: Expression, right: Expression, power: str, unit: float) -> Expression:
    """The logarithm of a sum of powers; `unit` is the logarithm of e in their base."""
    high = left.maximum(right)
    gap = -(left - right).unary("abs")
    rest = gap.math(power).math("log1p")
    scaled = rest if unit == 1 else rest * unit
    return left.eq(right).where(high + 0.6931471805599453 * unit, high + scaled)


@pointwise("logaddexp", needs="exp log1p")
def logaddexp(to: Operands, self: Any, other: Any) -> Expression:
    return _log_of_sum(to(self), to(other), "exp", 1)


@pointwise("logaddexp2", needs="exp2 log1p")
def logaddexp2(to: Operands, self: Any, other: Any) -> Expression:
    return _log_of_sum(to(self), to(other), "exp2", 1.4426950408889634)


@pointwise("sinc", needs="sin")
def sinc(to: Operands, self: Any) -> Expression:
    angle = to(self) * 3.141592653589793
    return angle.eq(0).where(1, angle.math("sin") / angle)


@pointwise("angle")
def angle(to: Operands, self: Any) -> Expression:
    """Of a real number."""
    value = to(self)
    turned = (value < 0).where(value.maker.constant(3.141592653589793, value.dtype), 0)
    return value.ne(value).where(value, turned)


@pointwise("round.decimals")
def round_decimals(to: Operands, self: Any, decimals: int) -> Expression:
    value = to(self)
    if not value.dtype.is_floating_point:
        raise Unsupported("integers")
    factor = 10.0 ** abs(decimals)
    if decimals < 0:
        return (value / factor).unary("rint") * factor
    return (value * factor).unary("rint") / factor
