"""Enters: a shape, strides and element types. Leaves: code that copies, converts, adds or cuts off.

The functions are `int (void **pointers, void *context)` with the target's pointer first and the
source's second; sizes are constants in them, the context is not read.
Invariant: bfloat16 and float16 are computed in float32 and rounded to nearest, ties to even.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from llvmlite import ir

from thunk.backends.cpu.calls.layout import Layout
from thunk.backends.cpu.calls.native import native
from thunk.backends.cpu.llvm.gemm_builder import POINTER, STATUS, Builder, Value, word
from thunk.types.dtype import dtype

SINGLE: Final = ir.FloatType()
DOUBLE: Final = ir.DoubleType()
BITS: Final = ir.IntType(32)
SHORT: Final = ir.IntType(16)


class Operation(Enum):
    """What becomes of an element of the target."""

    COPY = "copy"
    ADD = "add"
    RELU = "relu"
    ZERO = "zero"


def read_element(build: Builder, base: Value, element: dtype, index: Value) -> Value:
    """An element as float32 or float64."""
    if element.name == "bfloat16":
        short = build.ir.load(build.at(base, SHORT, index), typ=SHORT)
        bits = build.ir.shl(build.ir.zext(short, BITS), ir.Constant(BITS, 16))
        return build.ir.bitcast(bits, SINGLE)
    kind = {"float16": ir.HalfType(), "float32": SINGLE, "float64": DOUBLE}[element.name]
    value = build.ir.load(build.at(base, kind, index), typ=kind)
    return build.ir.fpext(value, SINGLE) if element.name == "float16" else value


def write_element(build: Builder, base: Value, element: dtype, index: Value, value: Value) -> None:
    """Store a float32 or float64 as an element."""
    if element.name == "float64":
        wide = build.ir.fpext(value, DOUBLE) if value.type == SINGLE else value
        build.ir.store(wide, build.at(base, DOUBLE, index))
        return
    single = build.ir.fptrunc(value, SINGLE) if value.type == DOUBLE else value
    if element.name == "float32":
        build.ir.store(single, build.at(base, SINGLE, index))
    elif element.name == "float16":
        half = ir.HalfType()
        build.ir.store(build.ir.fptrunc(single, half), build.at(base, half, index))
    else:
        build.ir.store(_bfloat(build, single), build.at(base, SHORT, index))


def _bfloat(build: Builder, value: Value) -> Value:
    """The upper half of a float32, rounded; NaN stay NaN."""

    def constant(number: int) -> Value:
        return ir.Constant(BITS, number)

    bits = build.ir.bitcast(value, BITS)
    upper = build.ir.lshr(bits, constant(16))
    odd = build.ir.and_(upper, constant(1))
    up = build.ir.add(bits, build.ir.add(odd, constant(0x7FFF)))
    quiet = build.ir.or_(upper, constant(0x40))
    nan = build.ir.fcmp_unordered("uno", value, value)
    chosen = build.ir.select(nan, quiet, build.ir.lshr(up, constant(16)))
    return build.ir.trunc(chosen, SHORT)


def _both(build: Builder, left: Value, right: Value) -> tuple[Value, Value]:
    """Two numbers at the wider of their widths."""
    if left.type == right.type:
        return left, right
    return tuple(
        build.ir.fpext(each, DOUBLE) if each.type == SINGLE else each for each in (left, right)
    )


def _element(
    build: Builder, operation: Operation, kinds: tuple[dtype, dtype], pointers: Sequence[Value],
    places: Sequence[Value],
) -> None:  # fmt: skip
    """One element."""
    (target, source), (to, start) = kinds, pointers
    if operation is Operation.COPY and target is source:
        kind = ir.IntType(8 * target.itemsize)
        value = build.ir.load(build.at(start, kind, places[1]), typ=kind)
        build.ir.store(value, build.at(to, kind, places[0]))
        return
    if operation is Operation.ZERO:
        kind = ir.IntType(8 * target.itemsize)
        build.ir.store(ir.Constant(kind, 0), build.at(to, kind, places[0]))
        return
    value = read_element(build, start, source, places[1])
    if operation is Operation.ADD:
        held = read_element(build, to, target, places[0])
        value = build.ir.fadd(*_both(build, held, value))
    elif operation is Operation.RELU:
        zero = ir.Constant(value.type, 0.0)
        value = build.ir.select(build.ir.fcmp_ordered("<=", value, zero), zero, value)
    write_element(build, to, target, places[0], value)


def merged(
    shape: Sequence[int], *strides: Sequence[int]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The same elements with as few dimensions as the strides allow."""
    kept: list[list[int]] = []  # extent, then its strides
    for extent, *steps in zip(shape, *strides):
        if extent == 1:
            continue
        if kept and all(far == extent * near for far, near in zip(kept[-1][1:], steps)):
            kept[-1] = [kept[-1][0] * extent, *steps]
        else:
            kept.append([extent, *steps])
    columns = [tuple(column) for column in zip(*kept)] or [()] * (1 + len(strides))
    return columns[0], columns[1:]


@native("strided", vectorise=True)
def _function(
    operation: Operation, shape: tuple[int, ...], target: tuple[dtype, tuple[int, ...]],
    source: tuple[dtype, tuple[int, ...]],
) -> str:  # fmt: skip
    module = ir.Module("strided")
    build = Builder(module, "strided", (POINTER, POINTER), STATUS, inner=False)
    pointers = [build.pointer_at(build.arguments[0], word(index)) for index in (0, 1)]
    kinds, strides = (target[0], source[0]), (target[1], source[1])

    def nest(axis: int, places: list[Value]) -> None:
        if axis == len(shape):
            _element(build, operation, kinds, pointers, places)
            return
        with build.loop(word(0), word(shape[axis])) as index:
            inner = [
                build.add(place, build.mul(index, word(each[axis])))
                for place, each in zip(places, strides)
            ]
            nest(axis + 1, inner)

    nest(0, [word(0), word(0)])
    build.ir.ret(ir.Constant(STATUS, 0))
    return str(module)


def strided_function(operation: Operation, target: Layout, source: Layout) -> int:
    """The address of the code for two plain layouts; the source's extents of one are repeated."""
    assert target.strides is not None and source.strides is not None
    missing = len(target.shape) - len(source.shape)
    extents = (1,) * missing + source.shape
    steps = (0,) * missing + source.strides
    repeated = tuple(0 if extent == 1 else step for extent, step in zip(extents, steps))
    shape, (to, start) = merged(target.shape, target.strides, repeated)
    return _function(operation, shape, (target.dtype, to), (source.dtype, start))
