"""Comparisons, predicates, logic, bits, choices and bounds."""

from __future__ import annotations

from typing import Any

from thunk.backends.cpu.lowering.pointwise import Body, Operands, pointwise
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import Unsupported
from thunk.ir.graph import Scalar, Value
from thunk.types import dtype as d
from thunk.types.dtype import BOOL, dtype
from thunk.types.promotion import result_type

_SAMPLE = {bool: True, int: 1, float: 1.0}


def common_dtype(*values: Any) -> dtype:
    """The dtype that operands are compared in."""
    seen: list[Any] = []
    for value in values:
        if isinstance(value, Value):
            seen.append(value.spec)
        elif isinstance(value, Scalar):
            seen.append(_SAMPLE[value.kind])
        else:
            seen.append(value)
    return result_type(seen)


def _comparing(op: str) -> Body:
    def body(to: Operands, self: Any, other: Any) -> Expression:
        element = common_dtype(self, other)
        return to(self, element).binary(op, to(other, element))

    return body


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    pointwise(f"{_name}.Tensor")(_comparing(_name))


def _asking(question: Any, for_whole: bool) -> Body:
    """A predicate whose answer for bool and integers is `for_whole`."""

    def body(to: Operands, self: Any) -> Expression:
        value = to.raw(self)
        if not value.dtype.is_floating_point:
            return value.maker.constant(for_whole, d.bool_)
        answer: Expression = question(value)
        return answer

    return body


_INFINITE = float("inf")


@pointwise("isclose")
def isclose(
    to: Operands, self: Value, other: Value, rtol: Any, atol: Any, equal_nan: bool
) -> Expression:
    element = common_dtype(self, other)
    left, right = to(self, element), to(other, element)
    close = left.eq(right)
    if equal_nan and left.dtype.is_floating_point:
        close = close | (left.ne(left) & right.ne(right))
    wide = left.dtype if left.dtype.is_floating_point else d.float32
    left, right = left.to(wide), right.to(wide)
    share, least = (to.domain.number(each, wide) for each in (rtol, atol))
    distance = (left - right).unary("abs")
    within = distance <= least + (share * right).unary("abs")
    exact = share.eq(0) & least.eq(0)
    return close | (~exact & (distance < _INFINITE) & within)


pointwise("isnan")(_asking(lambda value: value.ne(value), False))
pointwise("isinf")(_asking(lambda value: value.unary("abs").eq(_INFINITE), False))
pointwise("isfinite")(_asking(lambda value: value.unary("abs") < _INFINITE, True))
pointwise("isposinf")(_asking(lambda value: value.eq(_INFINITE), False))
pointwise("isneginf")(_asking(lambda value: value.eq(-_INFINITE), False))


@pointwise("isreal")
def isreal(to: Operands, self: Any) -> Expression:
    return to.raw(self).maker.constant(True, d.bool_)


@pointwise("logical_and")
def logical_and(to: Operands, self: Any, other: Any) -> Expression:
    return to(self, d.bool_) & to(other, d.bool_)


@pointwise("logical_or")
def logical_or(to: Operands, self: Any, other: Any) -> Expression:
    return to(self, d.bool_) | to(other, d.bool_)


@pointwise("logical_xor")
def logical_xor(to: Operands, self: Any, other: Any) -> Expression:
    return to(self, d.bool_) ^ to(other, d.bool_)


@pointwise("logical_not")
def logical_not(to: Operands, self: Any) -> Expression:
    return ~to(self, d.bool_)


@pointwise("bitwise_and.Tensor")
def bitwise_and(to: Operands, self: Any, other: Any) -> Expression:
    return to(self) & to(other)


@pointwise("bitwise_or.Tensor")
def bitwise_or(to: Operands, self: Any, other: Any) -> Expression:
    return to(self) | to(other)


@pointwise("bitwise_xor.Tensor")
def bitwise_xor(to: Operands, self: Any, other: Any) -> Expression:
    return to(self) ^ to(other)


@pointwise("bitwise_not")
def bitwise_not(to: Operands, self: Any) -> Expression:
    return ~to(self)


def _shifting(op: str) -> Body:
    def body(to: Operands, self: Any, other: Any) -> Expression:
        value, count = to(self), to(other)
        if value.dtype.category == BOOL:
            raise Unsupported("shifts of bool")
        fits = (count >= 0) & (count < 8 * value.dtype.itemsize)
        moved = value.binary(op, fits.where(count, 0))
        if op == "shl" or not value.dtype.is_signed:
            return fits.where(moved, 0)
        return fits.where(moved, (value < 0).where(value.maker.constant(-1, value.dtype), 0))

    return body


pointwise("bitwise_left_shift.Tensor")(_shifting("shl"))
pointwise("bitwise_right_shift.Tensor")(_shifting("shr"))


@pointwise("where.self")
def where(to: Operands, condition: Any, self: Any, other: Any) -> Expression:
    return to(condition, d.bool_).where(to(self), to(other))


@pointwise("masked_fill.Tensor", "masked_fill.Scalar")
def masked_fill(to: Operands, self: Any, mask: Any, value: Any) -> Expression:
    return to(mask, d.bool_).where(to(value), to(self))


@pointwise("maximum", "clamp_min", "clamp_min.Tensor")
def maximum(to: Operands, self: Any, other: Any) -> Expression:
    return to(self).maximum(to(other))


@pointwise("minimum", "clamp_max", "clamp_max.Tensor")
def minimum(to: Operands, self: Any, other: Any) -> Expression:
    return to(self).minimum(to(other))


def _unless_nan(op: str) -> Body:
    def body(to: Operands, self: Any, other: Any) -> Expression:
        left, right = to(self), to(other)
        chosen = left.binary(op, right)
        if not left.dtype.is_floating_point:
            return chosen
        return left.ne(left).where(right, right.ne(right).where(left, chosen))

    return body


pointwise("fmax")(_unless_nan("maximum"))
pointwise("fmin")(_unless_nan("minimum"))


@pointwise("clamp", "clamp.Tensor")
def clamp(to: Operands, self: Any, minimum: Any, maximum: Any) -> Expression:
    result = to(self)
    if minimum is not None:
        result = result.maximum(to(minimum))
    if maximum is not None:
        result = result.minimum(to(maximum))
    # A number that is NaN wins even where the other bound would.
    for bound in (minimum, maximum):
        if bound is not None and not isinstance(bound, Value) and result.dtype.is_floating_point:
            limit = to(bound)
            result = limit.ne(limit).where(limit, result)
    return result


@pointwise("heaviside")
def heaviside(to: Operands, self: Any, values: Any) -> Expression:
    step = (to(self) > 0).to(to.element)
    return to(self).eq(0).where(to(values), step)


_LARGEST = {
    d.float32: 3.4028234663852886e38, d.float64: 1.7976931348623157e308, d.float16: 65504.0,
    d.bfloat16: 3.3895313892515355e38,
}  # fmt: skip


@pointwise("nan_to_num")
def nan_to_num(to: Operands, self: Any, nan: Any, posinf: Any, neginf: Any) -> Expression:
    value = to(self)
    if not value.dtype.is_floating_point:
        return value
    largest = _LARGEST[to.element]
    high = to.domain.number(largest if posinf is None else posinf, to.element)
    low = to.domain.number(-largest if neginf is None else neginf, to.element)
    absent = to.domain.number(0.0 if nan is None else nan, to.element)
    finite = value.eq(_INFINITE).where(high, value.eq(-_INFINITE).where(low, value))
    return value.ne(value).where(absent, finite)
