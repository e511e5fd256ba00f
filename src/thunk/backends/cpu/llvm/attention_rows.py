"""Enters: the sizes of an attention. Leaves: code for one row of scores, forward and backward.

Invariant: NaN and infinities go where the softmax of the whole row would send them. A row that may
attend to nothing, which only a mask can bring about, has shares of zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from llvmlite import ir

from thunk.backends.cpu.calls.native import vector_bytes
from thunk.backends.cpu.llvm.gemm_builder import POINTER, WORD, Builder, Lanes, Value, word
from thunk.backends.cpu.llvm.math import vector_functions

UNROLLED: Final = 4
SINGLE: Final = ir.FloatType()
INFINITY: Final = float("inf")


class Rows(dict[str, int]):
    """Elements from one row of a tensor to the next, by the tensor's name; hashable."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))


@dataclass(frozen=True, slots=True)
class Sizes:
    """Everything about an attention that is constant in its code.

    `stride` leads from one row of a block of scores to the next, `mask_row` and `mask_across` from
    one element of the mask.
    """

    members: int
    queries: int
    keys: int
    features: int
    values: int
    block: int
    stride: int
    scale: float
    causal: bool
    rows: Rows
    mask_row: int = 0
    mask_across: int = 0

    @property
    def blocks(self) -> int:
        return -(-self.queries // self.block)


class _Row:
    """One row of scores: its arguments, and loops over its vectors."""

    def __init__(
        self, module: Any, name: str, kinds: tuple[Any, ...], sizes: Sizes, masked: bool
    ) -> None:
        self.build = Builder(module, name, kinds)
        self.build.function.attributes.add("noinline")
        self.lanes = Lanes(self.build, SINGLE, vector_bytes() // 4)
        self.sizes = sizes
        self.masked = masked
        self.scale = self.number(sizes.scale)

    def number(self, value: float) -> Value:
        return ir.Constant(self.lanes.kind, [value] * self.lanes.count)

    def at(self, base: Value, index: Value) -> Value:
        return self.build.at(base, SINGLE, index)

    def each(self, count: Value, visit: Callable[[Value, Value | None, int], None]) -> None:
        """Visit every vector of a row: its index, which lanes exist, which of four it is."""
        build, width = self.build, self.lanes.count
        done = build.slot(WORD, word(0))
        for step in (UNROLLED, 1):
            size = step * width
            start = build.ir.load(done, typ=WORD)
            with build.loop(start, build.ir.sub(count, word(size - 1)), size) as index:
                for each in range(step):
                    visit(build.add(index, word(each * width)), None, each)
                build.ir.store(build.add(index, word(size)), done)
        index = build.ir.load(done, typ=WORD)
        with build.ir.if_then(build.ir.icmp_signed("<", index, count)):
            visit(index, self.lanes.first_lanes(build.ir.sub(count, index)), 0)

    def score(self, scores: Value, mask: Value, index: Value, some: Value | None) -> Value:
        """Scaled scores with the mask added."""
        build = self.build
        value = build.ir.fmul(self.lanes.load(self.at(scores, index), some), self.scale)
        if not self.masked:
            return value
        if self.sizes.mask_across == 0:
            added = self.lanes.splat(build.ir.load(mask, typ=SINGLE))
        else:
            added = self.lanes.load(self.at(mask, index), some)
        return build.ir.fadd(value, added)

    def sums(self, first: Value) -> list[Value]:
        """Four variables, so that additions need not wait for one another."""
        return [self.build.slot(self.lanes.kind, first) for _ in range(UNROLLED)]

    def combined(self, slots: list[Value], how: Callable[[Value, Value], Value]) -> Value:
        values = [self.build.ir.load(slot, typ=self.lanes.kind) for slot in slots]
        first, second = how(values[0], values[1]), how(values[2], values[3])
        return how(first, second)

    def larger(self, left: Value, right: Value) -> Value:
        """The larger; `left` if `right` is NaN."""
        return self.build.ir.select(self.build.ir.fcmp_ordered(">", right, left), right, left)

    def largest(self, value: Value) -> Value:
        """The largest lane, in every lane."""
        count = self.lanes.count
        shift = count // 2
        while shift:
            order = [(lane + shift) % count for lane in range(count)]
            numbers = ir.Constant(ir.VectorType(ir.IntType(32), count), order)
            turned = self.build.ir.shuffle_vector(value, value, numbers)
            value, shift = self.larger(value, turned), shift // 2
        return value

    def chosen(self, some: Value | None, value: Value, other: float) -> Value:
        if some is None:
            return value
        return self.build.ir.select(some, value, self.number(other))

    def zeros(self, start: Value, stop: Value, *rows: Value) -> None:
        """Keys that a query may not attend to."""
        with self.build.loop(start, stop) as index:
            for row in rows:
                self.build.ir.store(ir.Constant(SINGLE, 0.0), self.at(row, index))

    def exp(self, value: Value) -> Value:
        return vector_functions["exp"](self.build.ir, value)


def softmax_row(module: Any, sizes: Sizes, masked: bool) -> Any:
    """(scores, keys, valid, mask, logarithm, factor): shares up to a factor, in place.

    Also writes the factor, and the logarithm of the sum, which the gradient needs.
    """
    kinds = (POINTER, WORD, WORD, POINTER, POINTER, POINTER)
    row = _Row(module, "softmax_row", kinds, sizes, masked)
    build, lanes = row.build, row.lanes
    scores, keys, valid, mask, logarithm, factor = build.arguments
    highest = row.sums(row.number(-INFINITY))

    def highest_of(index: Value, some: Value | None, which: int) -> None:
        value = row.chosen(some, row.score(scores, mask, index, some), -INFINITY)
        held = build.ir.load(highest[which], typ=lanes.kind)
        build.ir.store(row.larger(held, value), highest[which])

    row.each(valid, highest_of)
    top = row.largest(row.combined(highest, row.larger))
    safe = masked or sizes.causal
    nothing = build.ir.fcmp_ordered("==", top, row.number(-INFINITY))
    base = build.ir.select(nothing, lanes.zero, top) if safe else top
    sums = row.sums(lanes.zero)

    def shares(index: Value, some: Value | None, which: int) -> None:
        value = row.exp(build.ir.fsub(row.score(scores, mask, index, some), base))
        value = row.chosen(some, value, 0.0)
        lanes.store(value, row.at(scores, index), some)
        held = build.ir.load(sums[which], typ=lanes.kind)
        build.ir.store(build.ir.fadd(held, value), sums[which])

    row.each(valid, shares)
    row.zeros(valid, keys, scores)
    total = lanes.splat(lanes.sum(row.combined(sums, build.ir.fadd)))
    inverse = build.ir.fdiv(row.number(1.0), total)
    height = build.ir.fadd(vector_functions["log"](build.ir, total), base)
    if safe:
        empty = build.ir.fcmp_ordered("==", total, lanes.zero)
        inverse = build.ir.select(empty, lanes.zero, inverse)
        height = build.ir.select(empty, row.number(INFINITY), height)
    first = ir.Constant(ir.IntType(32), 0)
    build.ir.store(build.ir.extract_element(inverse, first), factor)
    build.ir.store(build.ir.extract_element(height, first), logarithm)
    build.ir.ret_void()
    return build.function


def gradient_row(module: Any, sizes: Sizes, masked: bool) -> Any:
    """(scores, shares, keys, valid, mask, logarithm, out, grad_out): both rows in place.

    Scores become the softmax; the gradients of its shares become those of the raw scores.
    """
    kinds = (POINTER, POINTER, WORD, WORD, POINTER, POINTER, POINTER, POINTER)
    row = _Row(module, "gradient_row", kinds, sizes, masked)
    build, lanes = row.build, row.lanes
    scores, shares, keys, valid, mask, logarithm, out, grad_out = build.arguments
    sums = row.sums(lanes.zero)

    def product(index: Value, some: Value | None, which: int) -> None:
        values = [lanes.load(row.at(base, index), some) for base in (out, grad_out)]
        held = build.ir.load(sums[which], typ=lanes.kind)
        build.ir.store(lanes.fma(values[0], values[1], held), sums[which])

    row.each(word(sizes.values), product)
    mean = lanes.splat(lanes.sum(row.combined(sums, build.ir.fadd)))
    height = lanes.splat(build.ir.load(logarithm, typ=SINGLE))

    def gradient(index: Value, some: Value | None, which: int) -> None:
        share = row.exp(build.ir.fsub(row.score(scores, mask, index, some), height))
        change = build.ir.fsub(lanes.load(row.at(shares, index), some), mean)
        change = build.ir.fmul(build.ir.fmul(share, change), row.scale)
        lanes.store(share, row.at(scores, index), some)
        lanes.store(change, row.at(shares, index), some)

    row.each(valid, gradient)
    row.zeros(valid, keys, scores, shares)
    build.ir.ret_void()
    return build.function
