"""Enters: an expression's operation and its operands as vectors. Leaves: the vector it gives.

Invariant: IEEE semantics; integers wrap; comparisons with NaN are false except `ne`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir

from thunk.backends.cpu.llvm import philox
from thunk.backends.cpu.llvm.math import vector_functions
from thunk.backends.cpu.llvm.math.traced import special_functions
from thunk.backends.cpu.llvm.vectors import I1, I8, Vectors, scalar_type
from thunk.compiler.expression import Expression
from thunk.types import dtype as d
from thunk.types.dtype import dtype

_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ROUNDING = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "sqrt": "sqrt",
             "abs": "fabs"}  # fmt: skip


def emit(vectors: Vectors, term: Expression, args: list[ir.Value]) -> ir.Value:
    """One operation that reads no memory."""
    builder = vectors.builder
    element = term.args[0].dtype
    op = term.op
    if op == "select":
        return builder.select(*args)
    if op == "cast":
        return cast(vectors, args[0], element, term.dtype)
    if op == "bits":
        return builder.bitcast(args[0], vectors.vector(scalar_type(term.dtype)))
    if op == "round":
        return vectors.rounded(args[0], term.attribute)
    if op == "math":
        return FUNCTIONS[term.attribute](builder, *args)
    if op in _SIGNS:
        return compare(vectors, op, element, *args)
    return combine(vectors, op, element, *args)


def compare(
    vectors: Vectors, op: str, element: dtype, left: ir.Value, right: ir.Value
) -> ir.Value:
    """A bool vector."""
    builder, sign = vectors.builder, _SIGNS[op]
    if element.is_floating_point:
        ordered = builder.fcmp_unordered if op == "ne" else builder.fcmp_ordered
        return ordered(sign, left, right)
    signed = element.is_signed and element is not d.bool_
    return (builder.icmp_signed if signed else builder.icmp_unsigned)(sign, left, right)


def combine(vectors: Vectors, op: str, element: dtype, *args: ir.Value) -> ir.Value:
    """Arithmetic and logic on operands of one type."""
    builder = vectors.builder
    if element.is_floating_point:
        return _floating(vectors, op, args)
    if op in _INTEGER:
        return getattr(builder, _INTEGER[op])(*args)
    if op == "neg":
        return builder.neg(*args)
    if op == "not":
        return builder.not_(*args)
    if op in ("maximum", "minimum"):
        if element is d.bool_:
            return builder.or_(*args) if op == "maximum" else builder.and_(*args)
        sign = "s" if element.is_signed else "u"
        return vectors.typed(f"{sign}{op[:3]}", *args)
    if op == "abs":
        if not element.is_signed:
            return args[0]
        negative = builder.icmp_signed("<", args[0], ir.Constant(args[0].type, None))
        return builder.select(negative, builder.neg(args[0]), args[0])
    if op == "shr":
        return (builder.ashr if element.is_signed else builder.lshr)(*args)
    if op == "quotient":
        return (builder.sdiv if element.is_signed else builder.udiv)(*args)
    if op == "rest":
        return (builder.srem if element.is_signed else builder.urem)(*args)
    if op in ("floor", "ceil", "trunc", "rint"):
        return args[0]
    raise AssertionError(f"{op} of {element}: no such operation")


_INTEGER = {"add": "add", "sub": "sub", "mul": "mul", "and": "and_", "or": "or_", "xor": "xor",
            "shl": "shl"}  # fmt: skip
_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "rest": "frem"}


def _floating(vectors: Vectors, op: str, args: tuple[ir.Value, ...]) -> ir.Value:
    builder = vectors.builder
    if op in _FLOAT:
        return getattr(builder, _FLOAT[op])(*args)
    if op == "neg":
        return builder.fneg(*args)
    if op in _ROUNDING:
        return vectors.typed(_ROUNDING[op], *args)
    if op in ("maximum", "minimum", "copysign"):
        return vectors.typed(op, *args)
    raise AssertionError(f"{op} of floating point values: no such operation")


def cast(vectors: Vectors, value: ir.Value, source: dtype, target: dtype) -> ir.Value:
    """Convert between working types; a float that an integer cannot hold gives what C gives."""
    builder = vectors.builder
    kind = vectors.vector(scalar_type(target))
    if source.is_floating_point:
        if target.is_floating_point:
            wider = target.itemsize > source.itemsize
            return (builder.fpext if wider else builder.fptrunc)(value, kind)
        return _to_integer(vectors, value, target)
    if target.is_floating_point:
        signed = source.is_signed and source is not d.bool_
        return (builder.sitofp if signed else builder.uitofp)(value, kind)
    if source.itemsize == target.itemsize and source is not d.bool_:
        return value
    if source is d.bool_:
        return builder.zext(value, kind)
    if target.itemsize < source.itemsize:
        return builder.trunc(value, kind)
    return (builder.sext if source.is_signed else builder.zext)(value, kind)


def _to_integer(vectors: Vectors, value: ir.Value, target: dtype) -> ir.Value:
    """Through int64, whose out-of-range result is the least integer, as the processor's own is."""
    builder = vectors.builder
    wide = vectors.vector(ir.IntType(64))
    limit = vectors.constant(float(1 << 63), value.type.element)
    low = vectors.constant(-float(1 << 63), value.type.element)
    below = builder.fcmp_ordered("<", value, limit)
    above = builder.fcmp_ordered(">=", value, low)
    fits = builder.and_(below, above)
    zero = ir.Constant(value.type, None)
    whole = builder.fptosi(builder.select(fits, value, zero), wide)
    least = vectors.constant(-(1 << 63), ir.IntType(64))
    whole = builder.select(fits, whole, least)
    if target.itemsize == 8:
        if target.is_signed:
            return whole
        moved = builder.fptosi(
            builder.select(below, zero, builder.fsub(value, limit)), wide
        )
        return builder.select(below, whole, builder.xor(moved, least))
    if target.itemsize == 4 and target.is_signed:
        return _to_int32(vectors, value)
    return builder.trunc(whole, vectors.vector(scalar_type(target)))


def _to_int32(vectors: Vectors, value: ir.Value) -> ir.Value:
    builder = vectors.builder
    kind = value.type.element
    below = builder.fcmp_ordered("<", value, vectors.constant(float(1 << 31), kind))
    above = builder.fcmp_ordered(">", value, vectors.constant(-float((1 << 31) + 1), kind))
    if kind is scalar_type(d.float32):
        above = builder.fcmp_ordered(">=", value, vectors.constant(-float(1 << 31), kind))
    fits = builder.and_(below, above)
    bits = ir.IntType(32)
    zero = ir.Constant(value.type, None)
    whole = builder.fptosi(builder.select(fits, value, zero), vectors.vector(bits))
    return builder.select(fits, whole, vectors.constant(-(1 << 31), bits))


def identity(vectors: Vectors, op: str, element: dtype) -> ir.Value:
    """What leaves every operand of `op` unchanged."""
    kind = scalar_type(element)
    if op == "add":
        # -0 + x is x for every x, and an empty sum is still 0: it starts from +0.
        value: Any = 0.0 if element.is_floating_point else 0
    elif op == "mul":
        value = 1.0 if element.is_floating_point else 1
    elif op in ("and", "or"):
        value = -1 if op == "and" else 0
    elif element.is_floating_point:
        value = float("-inf") if op == "maximum" else float("inf")
    elif element is d.bool_:
        value = op == "minimum"
    else:
        bits = 8 * element.itemsize
        low = -(1 << (bits - 1)) if element.is_signed else 0
        high = (1 << (bits - 1)) - 1 if element.is_signed else (1 << bits) - 1
        value = low if op == "maximum" else high
    return vectors.constant(value, kind)


def across(vectors: Vectors, op: str, element: dtype, value: ir.Value) -> ir.Value:
    """All lanes combined, in every lane: halves are combined until one lane is left."""
    builder, width = vectors.builder, vectors.width
    distance = width // 2
    while distance:
        order = [(lane + distance) % width for lane in range(width)]
        indices = ir.Constant(
            ir.VectorType(ir.IntType(32), width), [ir.IntType(32)(each) for each in order]
        )
        moved = builder.shuffle_vector(value, value, indices)
        value = combine(vectors, op, element, value, moved)
        distance //= 2
    return value


FUNCTIONS: Mapping[str, Callable[..., ir.Value]] = {
    **vector_functions, **special_functions, **philox.FUNCTIONS
}  # fmt: skip

__all__ = ["FUNCTIONS", "I1", "I8", "across", "cast", "combine", "compare", "emit", "identity"]
