"""Addition, products, quotients, remainders and fused forms of them."""

from __future__ import annotations

from typing import Any

from thunk.backends.cpu.lowering.pointwise import Operands, pointwise
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import Unsupported
from thunk.types.dtype import BOOL


def is_one(value: Any) -> bool:
    """Whether a number is a constant 1."""
    return isinstance(value, (int, float)) and value == 1


@pointwise("add.Tensor")
def add(to: Operands, self: Any, other: Any, alpha: Any) -> Expression:
    left, right = to(self), to.scalar(other)
    if not is_one(alpha):
        right = product(to.scalar(alpha), right)
    return left | right if left.dtype.category == BOOL else left + right


@pointwise("sub.Tensor")
def sub(to: Operands, self: Any, other: Any, alpha: Any) -> Expression:
    right = to.scalar(other)
    return to(self) - (right if is_one(alpha) else to.scalar(alpha) * right)


def product(left: Expression, right: Expression) -> Expression:
    """The product; of bools, whether both hold."""
    return left & right if left.dtype.category == BOOL else left * right


@pointwise("mul.Tensor")
def mul(to: Operands, self: Any, other: Any) -> Expression:
    return product(to(self), to.scalar(other))


@pointwise("neg")
def neg(to: Operands, self: Any) -> Expression:
    return -to(self)


@pointwise("div.Tensor")
def div(to: Operands, self: Any, other: Any) -> Expression:
    return to(self) / to.scalar(other)


@pointwise("reciprocal")
def reciprocal(to: Operands, self: Any) -> Expression:
    return 1 / to(self)


@pointwise("div.Tensor_mode")
def div_mode(to: Operands, self: Any, other: Any, rounding_mode: Any) -> Expression:
    left, right = to(self), to.scalar(other)
    if rounding_mode is None:
        return left / right
    if rounding_mode == "floor":
        return _floor_quotient(to, left, right)
    if left.dtype.is_floating_point:
        return (left / right).to(to.element).unary("trunc")
    return _quotient(to, left, right)


@pointwise("floor_divide")
def floor_divide(to: Operands, self: Any, other: Any) -> Expression:
    return _floor_quotient(to, to(self), to.scalar(other))


def _floor_quotient(to: Operands, left: Expression, right: Expression) -> Expression:
    if left.dtype.category == BOOL:
        raise Unsupported("bool quotients")
    if left.dtype.is_floating_point:
        return _floating_floor_quotient(left, right)
    whole, rest = _quotient(to, left, right), _rest(to, left, right)
    if not left.dtype.is_signed:
        return whole
    lower = rest.ne(0) & ((rest < 0) ^ (right < 0))
    return lower.where(whole - 1, whole)


def _floating_floor_quotient(left: Expression, right: Expression) -> Expression:
    """Python's quotient: from the exact remainder, so that it never rounds up."""
    rest = left.binary("rest", right)
    exact = (left - rest) / right
    lower = rest.ne(0) & ((rest < 0) ^ (right < 0))
    exact = lower.where(exact - 1, exact)
    whole = exact.unary("floor")
    whole = ((exact - whole) > 0.5).where(whole + 1, whole)
    quotient = left / right
    signed = whole.eq(0).where((quotient * 0).copysign(quotient), whole)
    return right.eq(0).where(quotient, signed)


def _guarded(
    to: Operands, left: Expression, right: Expression
) -> tuple[Expression, Expression]:
    """A divisor that the processor accepts, and whether the real one was -1."""
    name = to.at.node.op.name
    code = to.at.lower.failure(
        RuntimeError,
        f"{name}: ZeroDivisionError: expected integer divisors other than 0, got 0; "
        "mask them or divide floating point numbers",
    )
    right = left.maker.check(right.ne(0), right, code)
    minus = right.eq(-1) if left.dtype.is_signed else right.ne(right)
    return (minus | right.eq(0)).where(1, right), minus


def _quotient(to: Operands, left: Expression, right: Expression) -> Expression:
    safe, minus = _guarded(to, left, right)
    return minus.where(-left, left.binary("quotient", safe))


def _rest(to: Operands, left: Expression, right: Expression) -> Expression:
    safe, minus = _guarded(to, left, right)
    return minus.where(0, left.binary("rest", safe))


@pointwise("remainder.Tensor")
def remainder(to: Operands, self: Any, other: Any) -> Expression:
    left, right = to(self), to(other)
    if left.dtype.category == BOOL:
        raise Unsupported("bool remainders")
    floating = left.dtype.is_floating_point
    rest = left.binary("rest", right) if floating else _rest(to, left, right)
    if not left.dtype.is_signed:
        return rest
    other_side = rest.ne(0) & ((right < 0) ^ (rest < 0))
    return other_side.where(rest + right, rest)


@pointwise("fmod.Tensor")
def fmod(to: Operands, self: Any, other: Any) -> Expression:
    left, right = to(self), to(other)
    if left.dtype.category == BOOL:
        raise Unsupported("bool remainders")
    return left.binary("rest", right) if left.dtype.is_floating_point else _rest(to, left, right)


@pointwise("addcmul")
def addcmul(to: Operands, self: Any, tensor1: Any, tensor2: Any, value: Any) -> Expression:
    found = to(tensor1) * to(tensor2)
    return to(self) + (found if is_one(value) else to.scalar(value) * found)


@pointwise("addcdiv")
def addcdiv(to: Operands, self: Any, tensor1: Any, tensor2: Any, value: Any) -> Expression:
    return to(self) + to.scalar(value) * to(tensor1) / to(tensor2)


@pointwise("lerp.Scalar", "lerp.Tensor")
def lerp(to: Operands, self: Any, end: Any, weight: Any) -> Expression:
    start, stop, share = to(self), to(end), to.scalar(weight)
    way = stop - start
    near = share.unary("abs") < 0.5
    return near.where(start + share * way, stop - way * (1 - share))
