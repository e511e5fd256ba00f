"""Enters: specs of convolutions in dense layouts of one element type. Leaves: own kernels.

Windows are laid out as columns, one sample and group at a time, then multiplied.
Invariant: gradients of a weight are added up in the order of the samples.
"""

from __future__ import annotations

import ctypes
import math
from typing import Final

from llvmlite import ir

from thunk.backends.cpu.blas.product import Product
from thunk.backends.cpu.calls.call import BoundCall, LibraryCall, Operand, Words, in_order
from thunk.backends.cpu.calls.layout import Layout, dense_strides, plain
from thunk.backends.cpu.calls.native import native
from thunk.backends.cpu.calls.specs import Accumulate, Convolution, Direction, PostOp, matmul
from thunk.backends.cpu.llvm.gemm_builder import POINTER, STATUS, Builder, Value, word
from thunk.backends.cpu.llvm.windows import Geometry, Windows
from thunk.types.dtype import float32

FUNCTION: Final = 0  # words of a context: the product's function and context
CONTEXT: Final = 1


def geometry_of(spec: Convolution) -> Geometry:
    """One group of one sample."""
    return Geometry(
        spec.split_shape[2], spec.image.shape[2:], spec.split_shape[3:], spec.result.shape[2:],
        spec.stride, spec.dilation, spec.padding_before,
    )  # fmt: skip


def _product(spec: Convolution) -> Product:
    """The product of one group of one sample."""
    _, results, channels, *kernel = spec.split_shape
    depth, places = channels * math.prod(kernel), math.prod(spec.result.shape[2:])
    element = spec.image.dtype
    weight, columns = plain((results, depth), element), plain((depth, places), element)
    result = plain((results, places), element)
    if spec.direction == "forward":
        return Product(matmul(weight, columns, result))
    if spec.direction == "image":
        return Product(matmul(weight.transposed(), result, columns))
    post: tuple[PostOp, ...] = (Accumulate(),)
    threads = spec.threads
    return Product(matmul(result, columns.transposed(), weight, post=post, threads=threads))


def is_dense(layout: Layout) -> bool:
    return layout.is_plain and layout.strides == dense_strides(layout.shape)


class ColumnConvolution(LibraryCall):
    """A convolution without bias and post-ops. Gradients are written into memory of zeros."""

    def __init__(self, spec: Convolution) -> None:
        if not all(is_dense(each) for each in (spec.image, spec.weight, spec.result)):
            raise ValueError(f"convolution: expected dense layouts, got {spec}")
        self.spec: Convolution = spec
        self.implementation = "own columns"
        self.product = _product(spec)
        self.threads = self.product.threads
        layouts = {"image": spec.image, "weight": spec.weight, "result": spec.result}
        written = "result" if spec.direction == "forward" else spec.direction
        operands = [
            Operand(name, layout, ("write" if name == "result" else "update"))
            if name == written
            else Operand(name, layout, "read")
            for name, layout in layouts.items()
        ]
        geometry = geometry_of(spec)
        depth = geometry.channels * math.prod(geometry.kernel)
        self.columns = depth * math.prod(geometry.out) * spec.image.dtype.itemsize
        self.operands = in_order(operands, self.columns + 64 + self.product.scratchpad)

    def bind(self) -> BoundCall:
        """The code with the product that it calls."""
        spec, inner = self.spec, self.product.bind()
        positions = {operand.name: at for at, operand in enumerate(self.operands)}
        order = tuple(positions[name] for name in ("image", "weight", "result", "scratchpad"))
        shape = (spec.image.shape[0], spec.groups, spec.split_shape[1])
        single = spec.image.dtype is float32
        function = _function(spec.direction, shape, geometry_of(spec), order, single)
        words: Words = (ctypes.c_int64 * 2)(inner.function, inner.context)
        return BoundColumns(function, words, inner)


class BoundColumns(BoundCall):
    """Keeps the product that its code calls."""

    def __init__(self, function: int, words: Words, inner: BoundCall) -> None:
        self.inner = inner
        super().__init__(function, words, 1)


@native("convolution", vectorise=True)
def _function(
    direction: Direction, shape: tuple[int, int, int], geometry: Geometry,
    order: tuple[int, ...], single: bool,
) -> str:  # fmt: skip
    """The code that takes every sample and group in turn."""
    scalar = ir.FloatType() if single else ir.DoubleType()
    module = ir.Module("convolution")
    build = Builder(module, "convolution", (POINTER, POINTER), STATUS, inner=False)
    pointers, context = build.arguments
    image, weight, result, scratch = (build.pointer_at(pointers, word(at)) for at in order)
    samples, groups, results = shape
    pixels = geometry.channels * math.prod(geometry.size)
    depth = geometry.channels * math.prod(geometry.kernel)
    places = math.prod(geometry.out)
    windows = Windows(build, scalar, geometry)
    panel = build.at(scratch, ir.IntType(8), word(_rounded(depth * places * (4 if single else 8))))
    call = _Product(build, context, panel)
    with build.loop(word(0), word(samples)) as sample, build.loop(word(0), word(groups)) as group:
        part = build.add(build.mul(sample, word(groups)), group)
        picture = build.at(image, scalar, build.mul(part, word(pixels)))
        filters = build.at(weight, scalar, build.mul(group, word(results * depth)))
        values = build.at(result, scalar, build.mul(part, word(results * places)))
        if direction == "forward":
            windows.gather(picture, scratch)
            call.run(filters, scratch, values)
        elif direction == "weight":
            windows.gather(picture, scratch)
            call.run(values, scratch, filters)
        else:
            call.run(filters, values, scratch)
            windows.scatter(scratch, picture)
    build.ir.ret(ir.Constant(STATUS, 0))
    return str(module)


def _rounded(nbytes: int) -> int:
    return -(-nbytes // 64) * 64


class _Product:
    """Calls of a product whose function and context stand in the caller's context."""

    def __init__(self, build: Builder, context: Value, panel: Value) -> None:
        self.build = build
        self.panel = panel
        kind = ir.FunctionType(STATUS, (POINTER, POINTER)).as_pointer()
        self.function = build.ir.load(build.at(context, POINTER, word(FUNCTION)), typ=kind)
        self.context = build.pointer_at(context, word(CONTEXT))
        self.table = build.slot(
            ir.ArrayType(POINTER, 4), ir.Constant(ir.ArrayType(POINTER, 4), ir.Undefined)
        )

    def run(self, left: Value, right: Value, out: Value) -> None:
        """left @ right into out."""
        for index, value in enumerate((left, right, out, self.panel)):
            self.build.ir.store(value, self.build.at(self.table, POINTER, word(index)))
        self.build.ir.call(self.function, [self.table, self.context])
