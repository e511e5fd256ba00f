"""What is read off the bits of a floating-point number: its sign, parts and neighbours."""

from __future__ import annotations

from typing import Any

from thunk.backends.cpu.lowering.pointwise import Operands, pointwise
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d

# Bits of the mantissa, the exponent's field when shifted down, what the field is of 0.5 <= x < 1.
_LAYOUT = {d.float32: (d.int32, 23, 0xFF, 126), d.float64: (d.int64, 52, 0x7FF, 1022)}
_INFINITE = float("inf")


def _bits(value: Expression) -> Expression:
    return value.bits(_LAYOUT[value.dtype][0])


@pointwise("signbit")
def signbit(to: Operands, self: Value) -> Expression:
    value = to.raw(self)
    if not value.dtype.is_floating_point:
        return value < 0 if value.dtype.is_signed else value.maker.constant(False, d.bool_)
    return _bits(value) < 0


@pointwise("nextafter")
def nextafter(to: Operands, self: Any, other: Any) -> Expression:
    """Away from zero the bits count up; zero's neighbour has the least bits and the goal's sign."""
    if to.element not in _LAYOUT:
        raise Unsupported("numbers that are not computed in their own precision")
    value, goal = to(self), to(other)
    bits = _bits(value)
    outward = (goal > value).eq(value > 0)
    one = bits.maker.constant(1, bits.dtype)
    moved = (bits + outward.where(one, -one)).bits(value.dtype)
    least = one.bits(value.dtype).copysign(goal)
    found = value.eq(goal).where(goal, value.eq(0).where(least, moved))
    absent = value.ne(value) | goal.ne(goal)
    return absent.where(value + goal, found)


@lowering("frexp.Tensor")
def frexp(at: At, self: Value) -> None:
    """A mantissa from 0.5 to 1 and the power of two that it is multiplied with."""
    domain = at.points()
    value = domain.read(self)
    element, places, field, half = _LAYOUT[value.dtype]
    # Numbers too small for the field's range are scaled up, and the exponent down again.
    least = 2.0 ** (1 - half)
    small = value.unary("abs") < least
    scaled = small.where(value * 2.0 ** (places + 1), value)
    bits = _bits(scaled)
    exponent = bits.binary("shr", places) & field
    mantissa = ((bits & ~(field << places)) | (half << places)).bits(value.dtype)
    plain = value.unary("abs") < _INFINITE
    plain = plain & value.ne(0)
    shift = small.where(at.terms.constant(places + 1, element), 0)
    domain.store(plain.where(mantissa, value), 0)
    domain.store(plain.where(exponent - half - shift, 0).to(d.int32), 1)
