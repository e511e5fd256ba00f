"""Enters: sizes of register tiles. Leaves: functions that compute one tile of a matrix product.

Two kinds: a *spread* tile multiplies single elements of the left matrix with vectors of the right
one's rows; a *dot* tile multiplies vectors along the inner dimension, for matrices that both lie
densely along it. All sizes but the tile's are run-time arguments.
Invariant: a lane outside the matrix is neither read nor written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from llvmlite import ir

from thunk.backends.cpu.llvm.gemm_builder import POINTER, WORD, Builder, Lanes, Value, word

ACCUMULATE: Final = 1  # add to what the result holds
BIAS: Final = 2  # add a row
RELU: Final = 4  # cut off what is negative

# What a tile is given: inner size, left, its strides down and across, right, its stride from one
# vector or dot product to the next, result, its stride down, bias, mode, columns.
ARGUMENTS: Final = (
    WORD, POINTER, WORD, WORD, POINTER, WORD, POINTER, WORD, POINTER, WORD, WORD,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Access:
    """How one variable's memory is read and written, and how many elements it has."""

    width: int
    load: Callable[[Value], Value]
    store: Callable[[Value, Value], None]


class Tile:
    """What both kinds of tile share: their arguments by name, and how results are stored."""

    def __init__(self, module: Any, name: str, scalar: Any, lanes: int) -> None:
        self.build = Builder(module, name, ARGUMENTS)
        self.build.function.attributes.add("noinline")
        self.scalar = scalar
        self.lanes = Lanes(self.build, scalar, lanes)
        (
            self.inner, self.left, self.down, self.across, self.right, self.step,
            self.out, self.out_down, self.bias, self.mode, self.columns,
        ) = self.build.arguments  # fmt: skip

    def has(self, bit: int) -> Value:
        """Whether the mode has a bit."""
        masked = self.build.ir.and_(self.mode, word(bit))
        return self.build.ir.icmp_signed("!=", masked, word(0))

    def element(self, base: Value, index: Value) -> Value:
        return self.build.at(base, self.scalar, index)

    def finish(
        self, sums: Sequence[Sequence[Value]], kind: Any, zero: Value, access: Access
    ) -> None:
        """Everything that the mode asks for, then the results' memory. NaN passes through relu.

        `access` reads and writes the memory of a result; `sums` are its variables, row by row.
        """
        build = self.build.ir

        def change(bit: int, how: Callable[[int, int, Value], Value]) -> None:
            with build.if_then(self.has(bit)):
                for row, variables in enumerate(sums):
                    for each, variable in enumerate(variables):
                        value = build.load(variable, typ=kind)
                        build.store(how(row, each, value), variable)

        def place(base: Value, row: int, each: int) -> Value:
            line = self.element(base, self.build.mul(self.out_down, word(row)))
            return self.element(line, word(each * access.width))

        def rectified(row: int, each: int, value: Value) -> Value:
            return build.select(build.fcmp_ordered("<=", value, zero), zero, value)

        out, bias = self.out, self.bias
        change(ACCUMULATE, lambda r, c, value: build.fadd(value, access.load(place(out, r, c))))
        change(BIAS, lambda r, c, value: build.fadd(value, access.load(place(bias, 0, c))))
        change(RELU, rectified)
        for row, variables in enumerate(sums):
            for each, variable in enumerate(variables):
                access.store(build.load(variable, typ=kind), place(out, row, each))


def spread_tile(
    module: Any, name: str, scalar: Any, lanes: int, rows: int, vectors: int, masked: bool
) -> Any:
    """`rows` rows of `vectors` vectors; with `masked` only the first `columns` lanes exist."""
    tile = Tile(module, name, scalar, lanes)
    build, vector = tile.build, tile.lanes
    mask = vector.first_lanes(tile.columns) if masked else None
    sums = [[build.slot(vector.kind, vector.zero) for _ in range(vectors)] for _ in range(rows)]
    starts = [tile.element(tile.left, build.mul(tile.down, word(row))) for row in range(rows)]
    with build.loop(word(0), tile.inner) as inner:
        line = tile.element(tile.right, build.mul(inner, tile.step))
        values = [
            vector.load(tile.element(line, word(each * lanes)), mask) for each in range(vectors)
        ]
        offset = build.mul(inner, tile.across)
        for row in range(rows):
            single = build.ir.load(tile.element(starts[row], offset), typ=scalar)
            factor = vector.splat(single)
            for each in range(vectors):
                held = build.ir.load(sums[row][each], typ=vector.kind)
                build.ir.store(vector.fma(factor, values[each], held), sums[row][each])
    access = Access(
        lanes,
        lambda place: vector.load(place, mask),
        lambda value, place: vector.store(value, place, mask),
    )
    tile.finish(sums, vector.kind, vector.zero, access)
    build.ir.ret_void()
    return build.function


def dot_tile(module: Any, name: str, scalar: Any, lanes: int, rows: int, columns: int) -> Any:
    """`rows` by `columns` dot products; `step` leads from one column of the right matrix on."""
    tile = Tile(module, name, scalar, lanes)
    build, vector = tile.build, tile.lanes
    sums = [[build.slot(vector.kind, vector.zero) for _ in range(columns)] for _ in range(rows)]
    lefts = [tile.element(tile.left, build.mul(tile.down, word(row))) for row in range(rows)]
    rights = [tile.element(tile.right, build.mul(tile.step, word(each))) for each in range(columns)]

    def products(start: Value, mask: Value | None) -> None:
        factors = [vector.load(tile.element(line, start), mask) for line in lefts]
        for each, line in enumerate(rights):
            value = vector.load(tile.element(line, start), mask)
            for row, factor in enumerate(factors):
                held = build.ir.load(sums[row][each], typ=vector.kind)
                build.ir.store(vector.fma(factor, value, held), sums[row][each])

    rest = build.ir.and_(tile.inner, word(lanes - 1))
    whole = build.ir.sub(tile.inner, rest)
    with build.loop(word(0), whole, lanes) as start:
        products(start, None)
    with build.ir.if_then(build.ir.icmp_signed("!=", rest, word(0))):
        products(whole, vector.first_lanes(rest))
    totals = [
        [build.slot(scalar, vector.sum(build.ir.load(each, typ=vector.kind))) for each in variables]
        for variables in sums
    ]
    access = Access(
        1,
        lambda place: build.ir.load(place, typ=scalar),
        lambda value, place: build.ir.store(value, place),
    )
    tile.finish(totals, scalar, ir.Constant(scalar, 0.0), access)
    build.ir.ret_void()
    return build.function
