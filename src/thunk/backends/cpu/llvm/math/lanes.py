"""Enters: an `IRBuilder` and its vectors. Leaves: `Lanes`, vectors that take operators.

Invariant: every operation is one that the machine has, lane by lane; there is neither a branch nor
a fast-math flag. A vector of one lane and a plain number are both right.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from thunk.backends.cpu.llvm.math.target import machine
from thunk.backends.cpu.llvm.vectors import Splat, spelled


@dataclass(frozen=True)
class Format:
    """How a floating-point type lays out its bits."""

    bits: int
    mantissa: int

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.mantissa - 2)) - 1

    @property
    def magic(self) -> float:
        """Adding it rounds to a whole number, which is then in the lowest bits of the sum."""
        return 1.5 * 2.0**self.mantissa

    @property
    def least_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def largest(self) -> float:
        return (2.0 - 2.0**-self.mantissa) * 2.0**self.bias

    def bits_of(self, number: float) -> int:
        code = "<f" if self.bits == 32 else "<d"
        return int.from_bytes(struct.pack(code, number), "little")


SINGLE = Format(32, 23)
DOUBLE = Format(64, 52)


def _everywhere(kind: Any, number: float | int) -> Any:
    """The number in every lane of a vector, or as it is."""
    if isinstance(kind, ir.VectorType):
        return Splat(kind, f"splat ({kind.element} {spelled(number, kind.element)})")
    return Splat(kind, spelled(number, kind))


Number = float | int


class Lanes:
    """A vector under operators. Comparisons are false where an operand is not a number."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder = builder
        self.value = value

    @property
    def element(self) -> Any:
        """The type of one lane."""
        kind = self.value.type
        return kind.element if isinstance(kind, ir.VectorType) else kind

    @property
    def format(self) -> Format:
        return SINGLE if isinstance(self.element, ir.FloatType) else DOUBLE

    def kind_with(self, element: Any) -> Any:
        """The type with as many lanes of another element."""
        kind = self.value.type
        return ir.VectorType(element, kind.count) if isinstance(kind, ir.VectorType) else element

    def like(self, value: Any) -> Lanes:
        return Lanes(self.builder, value)

    def constant(self, number: Number) -> Lanes:
        """The number in every lane, in the type of this vector."""
        return self.like(_everywhere(self.value.type, number))

    def raw(self, other: Lanes | Number) -> Any:
        return other.value if isinstance(other, Lanes) else _everywhere(self.value.type, other)

    def _is_integer(self) -> bool:
        return isinstance(self.element, ir.IntType)

    def _operate(self, name: str, left: Any, right: Any) -> Lanes:
        prefix = "" if self._is_integer() else "f"
        return self.like(getattr(self.builder, prefix + name)(left, right))

    def __add__(self, other: Lanes | Number) -> Lanes:
        return self._operate("add", self.value, self.raw(other))

    def __sub__(self, other: Lanes | Number) -> Lanes:
        return self._operate("sub", self.value, self.raw(other))

    def __mul__(self, other: Lanes | Number) -> Lanes:
        return self._operate("mul", self.value, self.raw(other))

    def __radd__(self, other: Number) -> Lanes:
        return self._operate("add", self.raw(other), self.value)

    def __rsub__(self, other: Number) -> Lanes:
        return self._operate("sub", self.raw(other), self.value)

    def __rmul__(self, other: Number) -> Lanes:
        return self._operate("mul", self.raw(other), self.value)

    def __truediv__(self, other: Lanes | Number) -> Lanes:
        return self.like(self.builder.fdiv(self.value, self.raw(other)))

    def __rtruediv__(self, other: Number) -> Lanes:
        return self.like(self.builder.fdiv(self.raw(other), self.value))

    def __neg__(self) -> Lanes:
        if self._is_integer():
            return self._operate("sub", self.raw(0), self.value)
        return self.like(self.builder.fneg(self.value))

    def __abs__(self) -> Lanes:
        return self._intrinsic("fabs", self)

    def __and__(self, other: Lanes | int) -> Lanes:
        return self.like(self.builder.and_(self.value, self.raw(other)))

    def __or__(self, other: Lanes | int) -> Lanes:
        return self.like(self.builder.or_(self.value, self.raw(other)))

    def __xor__(self, other: Lanes | int) -> Lanes:
        return self.like(self.builder.xor(self.value, self.raw(other)))

    def __invert__(self) -> Lanes:
        return self ^ -1 if self.element.width > 1 else self ^ 1

    def __lshift__(self, places: Lanes | int) -> Lanes:
        return self.like(self.builder.shl(self.value, self.raw(places)))

    def __rshift__(self, places: Lanes | int) -> Lanes:
        """The sign moves in from the left; `shift_in_zeros` is the other kind."""
        return self.like(self.builder.ashr(self.value, self.raw(places)))

    def shift_in_zeros(self, places: int) -> Lanes:
        return self.like(self.builder.lshr(self.value, self.raw(places)))

    def _compare(self, sign: str, other: Lanes | Number) -> Lanes:
        compare = self.builder.icmp_signed if self._is_integer() else self.builder.fcmp_ordered
        return self.like(compare(sign, self.value, self.raw(other)))

    def __lt__(self, other: Lanes | Number) -> Lanes:
        return self._compare("<", other)

    def __le__(self, other: Lanes | Number) -> Lanes:
        return self._compare("<=", other)

    def __gt__(self, other: Lanes | Number) -> Lanes:
        return self._compare(">", other)

    def __ge__(self, other: Lanes | Number) -> Lanes:
        return self._compare(">=", other)

    def equals(self, other: Lanes | Number) -> Lanes:
        return self._compare("==", other)

    def is_nan(self) -> Lanes:
        return self.like(self.builder.fcmp_unordered("uno", self.value, self.value))

    def is_unordered_with(self, other: Lanes) -> Lanes:
        """Whether one of the two is not a number."""
        return self.like(self.builder.fcmp_unordered("uno", self.value, other.value))

    def _intrinsic(self, name: str, *operands: Lanes) -> Lanes:
        kind = self.value.type
        module = self.builder.module
        element = "f32" if isinstance(self.element, ir.FloatType) else "f64"
        count = f"v{kind.count}" if isinstance(kind, ir.VectorType) else ""
        full = f"llvm.{name}.{count}{element}"
        function = module.globals.get(full)
        if function is None:
            function = ir.Function(module, ir.FunctionType(kind, [kind] * len(operands)), full)
        return self.like(self.builder.call(function, [operand.value for operand in operands]))

    def sqrt(self) -> Lanes:
        return self._intrinsic("sqrt", self)

    def floor(self) -> Lanes:
        return self._intrinsic("floor", self)

    def ceil(self) -> Lanes:
        return self._intrinsic("ceil", self)

    def trunc(self) -> Lanes:
        return self._intrinsic("trunc", self)

    def round_to_even(self) -> Lanes:
        return self._intrinsic("roundeven", self)

    def with_sign_of(self, other: Lanes) -> Lanes:
        return self._intrinsic("copysign", self, other)

    def fused(self, factor: Lanes, addend: Lanes) -> Lanes:
        """`self * factor + addend` with one rounding; only where `machine().fused`."""
        return self._intrinsic("fma", self, factor, addend)

    def as_bits(self) -> Lanes:
        """The same bits as whole numbers."""
        kind = self.kind_with(ir.IntType(self.format.bits))
        return self.like(self.builder.bitcast(self.value, kind))

    def as_floats(self) -> Lanes:
        """The same bits as floating-point numbers."""
        element = ir.FloatType() if self.element.width == 32 else ir.DoubleType()
        return self.like(self.builder.bitcast(self.value, self.kind_with(element)))

    def to_floats(self) -> Lanes:
        """Whole numbers as floating-point numbers of as many bits."""
        element = ir.FloatType() if self.element.width == 32 else ir.DoubleType()
        return self.like(self.builder.sitofp(self.value, self.kind_with(element)))

    def widened(self) -> Lanes:
        return self.like(self.builder.fpext(self.value, self.kind_with(ir.DoubleType())))

    def narrowed(self) -> Lanes:
        return self.like(self.builder.fptrunc(self.value, self.kind_with(ir.FloatType())))


def choose(condition: Lanes, yes: Lanes | Number, no: Lanes | Number) -> Lanes:
    """`yes` where the condition holds, else `no`; one of them is a vector."""
    model = yes if isinstance(yes, Lanes) else no
    assert isinstance(model, Lanes)
    return model.like(model.builder.select(condition.value, model.raw(yes), model.raw(no)))


def at_most(x: Lanes, bound: Lanes | Number) -> Lanes:
    """The smaller one; `x` where it is not a number."""
    limit = bound if isinstance(bound, Lanes) else x.constant(bound)
    return choose(limit < x, limit, x)


def at_least(x: Lanes, bound: Lanes | Number) -> Lanes:
    """The larger one; `x` where it is not a number."""
    limit = bound if isinstance(bound, Lanes) else x.constant(bound)
    return choose(limit > x, limit, x)


def multiply_add(x: Lanes, factor: Lanes | Number, addend: Lanes | Number) -> Lanes:
    """`x * factor + addend`, rounded once or, on machines that cannot, twice."""
    if not machine().fused:
        return x * factor + addend
    left = factor if isinstance(factor, Lanes) else x.constant(factor)
    right = addend if isinstance(addend, Lanes) else x.constant(addend)
    return x.fused(left, right)


def polynomial(x: Lanes, coefficients: tuple[float, ...]) -> Lanes:
    """The polynomial with these coefficients, the lowest power's first."""
    result = x.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = multiply_add(result, x, coefficient)
    return result
