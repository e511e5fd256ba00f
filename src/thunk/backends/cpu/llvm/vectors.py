"""Enters: LLVM values. Leaves: vector instructions for one function, at one width.

Invariant: every value is a vector of `width` lanes; no instruction carries fast-math flags.
"""

from __future__ import annotations

import struct
from typing import Any

from llvmlite import ir

from thunk.types import dtype as d
from thunk.types.dtype import dtype

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
POINTER = ir.PointerType()
FLOAT, DOUBLE, HALF = ir.FloatType(), ir.DoubleType(), ir.HalfType()
_SUFFIX = {FLOAT: "f32", DOUBLE: "f64", HALF: "f16"}


def scalar_type(element: dtype) -> Any:
    """The LLVM type that values of a working type have."""
    if element is d.float32:
        return FLOAT
    if element is d.float64:
        return DOUBLE
    return I1 if element is d.bool_ else ir.IntType(8 * element.itemsize)


def memory_type(element: dtype) -> Any:
    """The LLVM type of an element in memory."""
    if element is d.bool_:
        return I8
    if element is d.bfloat16:
        return I16
    return HALF if element is d.float16 else scalar_type(element)


def suffix(kind: Any) -> str:
    """How intrinsics spell a scalar type."""
    return _SUFFIX.get(kind) or f"i{kind.width}"


def spelled(value: Any, kind: Any) -> str:
    """A scalar constant as LLVM reads it."""
    if kind in (FLOAT, DOUBLE):
        if kind is FLOAT:
            value = struct.unpack("f", struct.pack("f", _in_float_range(value)))[0]
        return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
    if kind is I1:
        return "true" if value else "false"
    bits = kind.width
    value &= (1 << bits) - 1
    return str(value - (1 << bits) if value >> (bits - 1) else value)


def _in_float_range(value: float) -> float:
    """Values beyond float32 become infinite, as conversions round them."""
    try:
        struct.pack("f", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value


class Splat(ir.Constant):  # type: ignore[misc]
    """One scalar constant in every lane, in LLVM's short spelling."""

    def __init__(self, kind: ir.VectorType, text: str) -> None:
        self.type = kind
        self.constant = text

    def _get_reference(self) -> str:
        return str(self.constant)


class Vectors:
    """An `ir.IRBuilder` that thinks in vectors."""

    def __init__(self, builder: ir.IRBuilder, width: int) -> None:
        self.builder = builder
        self.width = width

    def vector(self, kind: Any) -> ir.VectorType:
        return ir.VectorType(kind, self.width)

    def constant(self, value: Any, kind: Any) -> ir.Value:
        """All lanes alike."""
        return Splat(self.vector(kind), f"splat ({kind} {spelled(value, kind)})")

    def lanes(self, kind: Any = I64, step: int = 1) -> ir.Value:
        """0, step, 2*step, ..."""
        return ir.Constant(self.vector(kind), [kind(step * lane) for lane in range(self.width)])

    def splat(self, scalar: ir.Value) -> ir.Value:
        kind = self.vector(scalar.type)
        start = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(start, scalar, I32(0))
        zeros = ir.Constant(ir.VectorType(I32, self.width), None)
        return self.builder.shuffle_vector(first, start, zeros)

    def first(self, value: ir.Value) -> ir.Value:
        return self.builder.extract_element(value, I32(0))

    def intrinsic(self, name: str, result: Any, args: list[ir.Value], tail: str = "") -> ir.Value:
        """Call an LLVM intrinsic by its full name."""
        module = self.builder.module
        function = module.globals.get(name)
        if function is None:
            function_type = ir.FunctionType(result, [each.type for each in args])
            function = ir.Function(module, function_type, name)
        return self.builder.call(function, args)

    def typed(self, name: str, *args: ir.Value) -> ir.Value:
        """An intrinsic named after its operands' vector type, whose result has that type too."""
        kind = args[0].type
        full = f"llvm.{name}.v{self.width}{suffix(kind.element)}"
        return self.intrinsic(full, kind, list(args))

    def mask(self, remaining: ir.Value) -> ir.Value:
        """Which lanes lie below `remaining`, an i64."""
        return self.builder.icmp_signed("<", self.lanes(), self.splat(remaining))

    def load(self, pointer: ir.Value, element: dtype, mask: ir.Value | None) -> ir.Value:
        """Adjacent elements, as working values."""
        kind = memory_type(element)
        vector = self.vector(kind)
        if mask is None:
            raw = self.builder.load(pointer, align=element.itemsize, typ=vector)
        else:
            name = f"llvm.masked.load.v{self.width}{suffix(kind)}.p0"
            zero = ir.Constant(vector, None)
            raw = self.intrinsic(name, vector, [pointer, I32(element.itemsize), mask, zero])
        return self.widened(raw, element)

    def load_one(self, pointer: ir.Value, element: dtype) -> ir.Value:
        """One element in every lane."""
        kind = memory_type(element)
        raw = self.builder.load(pointer, align=element.itemsize, typ=kind)
        return self.widened(self.splat(raw), element)

    def gather(self, pointers: ir.Value, element: dtype, mask: ir.Value | None) -> ir.Value:
        """Elements at a vector of addresses."""
        kind = memory_type(element)
        vector = self.vector(kind)
        name = f"llvm.masked.gather.v{self.width}{suffix(kind)}.v{self.width}p0"
        every = self.constant(True, I1) if mask is None else mask
        zero = ir.Constant(vector, None)
        raw = self.intrinsic(name, vector, [pointers, I32(element.itemsize), every, zero])
        return self.widened(raw, element)

    def widened(self, raw: ir.Value, element: dtype) -> ir.Value:
        """What lies in memory as a working value."""
        if element is d.bool_:
            return self.builder.icmp_unsigned("!=", raw, self.constant(0, I8))
        if element is d.bfloat16:
            wide = self.builder.zext(raw, self.vector(I32))
            shifted = self.builder.shl(wide, self.constant(16, I32))
            return self.builder.bitcast(shifted, self.vector(FLOAT))
        if element is d.float16:
            return self.builder.fpext(raw, self.vector(FLOAT))
        return raw

    def narrowed(self, value: ir.Value, element: dtype) -> ir.Value:
        """A working value as it lies in memory."""
        if element is d.bool_:
            return self.builder.zext(value, self.vector(I8))
        if element is d.float16:
            return self.builder.fptrunc(value, self.vector(HALF))
        if element is d.bfloat16:
            bits = self.builder.bitcast(self.rounded_bfloat16(value), self.vector(I32))
            high = self.builder.lshr(bits, self.constant(16, I32))
            return self.builder.trunc(high, self.vector(I16))
        return value

    def rounded(self, value: ir.Value, element: dtype) -> ir.Value:
        """A float32 vector rounded to what half precision can hold."""
        if element is d.bfloat16:
            return self.rounded_bfloat16(value)
        half = self.builder.fptrunc(value, self.vector(HALF))
        return self.builder.fpext(half, self.vector(FLOAT))

    def rounded_bfloat16(self, value: ir.Value) -> ir.Value:
        """Round to nearest, ties to even; NaN stays NaN."""
        builder, number = self.builder, self.constant
        bits = builder.bitcast(value, self.vector(I32))
        odd = builder.and_(builder.lshr(bits, number(16, I32)), number(1, I32))
        moved = builder.add(bits, builder.add(odd, number(0x7FFF, I32)))
        kept = builder.and_(moved, number(0xFFFF0000, I32))
        quiet = builder.and_(builder.or_(bits, number(0x400000, I32)), number(0xFFFF0000, I32))
        unordered = builder.fcmp_unordered("uno", value, value)
        chosen = builder.select(unordered, quiet, kept)
        return builder.bitcast(chosen, self.vector(FLOAT))

    def store(
        self, value: ir.Value, pointer: ir.Value, element: dtype, mask: ir.Value | None
    ) -> None:
        """Adjacent elements."""
        raw = self.narrowed(value, element)
        if mask is None:
            self.builder.store(raw, pointer, align=element.itemsize)
            return
        name = f"llvm.masked.store.v{self.width}{suffix(raw.type.element)}.p0"
        void = ir.VoidType()
        self.intrinsic(name, void, [raw, pointer, I32(element.itemsize), mask])

    def store_one(self, value: ir.Value, pointer: ir.Value, element: dtype) -> None:
        """The first lane."""
        self.builder.store(
            self.first(self.narrowed(value, element)), pointer, align=element.itemsize
        )

    def scatter(
        self, value: ir.Value, pointers: ir.Value, element: dtype, mask: ir.Value | None
    ) -> None:
        """Elements to a vector of addresses."""
        raw = self.narrowed(value, element)
        name = f"llvm.masked.scatter.v{self.width}{suffix(raw.type.element)}.v{self.width}p0"
        every = self.constant(True, I1) if mask is None else mask
        self.intrinsic(name, ir.VoidType(), [raw, pointers, I32(element.itemsize), every])
