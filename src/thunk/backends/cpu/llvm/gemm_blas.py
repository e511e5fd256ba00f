"""Enters: an element type. Leaves: code that hands a product over to a BLAS in Fortran's form.

Fortran's matrices lie column by column, so it is asked for the transposed product: right by left.
Invariant: integers are passed by address, in 64 bits, so that a BLAS of either width reads them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from thunk.backends.cpu.llvm.gemm_builder import POINTER, WORD, Builder, Value, word
from thunk.backends.cpu.llvm.gemm_tile import ACCUMULATE, ARGUMENTS, BIAS, RELU

CHARACTER = ir.IntType(8)


class _Kernel:
    """One function: the arguments of a tile, then rows, the stride across, the BLAS."""

    def __init__(self, module: Any, scalar: Any) -> None:
        self.build = Builder(module, "blas", (*ARGUMENTS, WORD, WORD, POINTER))
        self.scalar = scalar
        (
            self.inner, self.left, self.down, self.across, self.right, self.step, self.out,
            self.out_down, self.bias, self.mode, self.columns, self.rows, self.right_across,
            self.function,
        ) = self.build.arguments  # fmt: skip

    def has(self, bit: int) -> Value:
        return self.build.ir.icmp_signed("!=", self.build.ir.and_(self.mode, word(bit)), word(0))

    def elements(self) -> Any:
        """Visits the result: address of an element, and its column."""
        build = self.build

        def visit(change: Any) -> None:
            with build.loop(word(0), self.rows) as row:
                start = build.mul(row, self.out_down)
                with build.loop(word(0), self.columns) as column:
                    place = build.at(self.out, self.scalar, build.add(start, column))
                    build.ir.store(change(place, column), place)

        return visit

    def matrix(
        self, near: Value, far: Value, straight: Value, turned: Value
    ) -> tuple[Value, Value]:
        """Whether a matrix is transposed, as a letter, and the stride of its other dimension.

        That is at least the extent that lies densely: BLAS insists, though a matrix of a single
        column may have any.
        """
        build = self.build.ir
        plain = build.icmp_signed("==", near, word(1))
        letter = [ir.Constant(CHARACTER, ord(each)) for each in "NT"]
        leading, least = build.select(plain, far, near), build.select(plain, straight, turned)
        return build.select(plain, *letter), self.at_least(leading, least)

    def at_least(self, value: Value, least: Value) -> Value:
        build = self.build.ir
        return build.select(build.icmp_signed(">", value, least), value, least)

    def emit(self) -> Any:
        build = self.build
        one, zero = ir.Constant(self.scalar, 1.0), ir.Constant(self.scalar, 0.0)
        visit = self.elements()

        def biased(place: Value, column: Value) -> Value:
            held = build.ir.load(place, typ=self.scalar)
            kept = build.ir.select(self.has(ACCUMULATE), held, zero)
            row = build.ir.load(build.at(self.bias, self.scalar, column), typ=self.scalar)
            return build.ir.fadd(kept, row)

        def rectified(place: Value, column: Value) -> Value:
            value = build.ir.load(place, typ=self.scalar)
            return build.ir.select(build.ir.fcmp_ordered("<=", value, zero), zero, value)

        with build.ir.if_then(self.has(BIAS)):
            visit(biased)
        keeps = build.ir.or_(self.has(ACCUMULATE), self.has(BIAS))
        beta = build.ir.select(keeps, one, zero)
        inner = self.at_least(self.inner, word(1))
        first, leading_right = self.matrix(self.right_across, self.step, self.columns, inner)
        second, leading_left = self.matrix(self.across, self.down, inner, self.rows)
        leading_out = self.at_least(self.out_down, self.columns)
        arguments = [
            build.slot(CHARACTER, first),
            build.slot(CHARACTER, second),
            build.slot(WORD, self.columns),
            build.slot(WORD, self.rows),
            build.slot(WORD, self.inner),
            build.slot(self.scalar, one),
            self.right,
            build.slot(WORD, leading_right),
            self.left,
            build.slot(WORD, leading_left),
            build.slot(self.scalar, beta),
            self.out,
            build.slot(WORD, leading_out),
        ]
        kind = ir.FunctionType(ir.VoidType(), [POINTER] * len(arguments)).as_pointer()
        place = build.slot(POINTER, self.function)
        build.ir.call(build.ir.load(place, typ=kind), arguments)
        with build.ir.if_then(self.has(RELU)):
            visit(rectified)
        build.ir.ret_void()
        return build.function


def blas_kernel(module: Any, scalar: Any) -> Any:
    """The function, in `module`."""
    return _Kernel(module, scalar).emit()
