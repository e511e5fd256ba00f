"""Enters: an element type. Leaves: machine code for matrix products of any size, strides and batch.

A function `int (void **pointers, void *context)` serves every product of its element type that is
computed in its way: with *spread* tiles over a right matrix whose rows are dense; with *dot* tiles
if both lie densely along the inner dimension; *packed*, with panels of the right matrix copied into
scratch memory first, which takes any strides; or by the BLAS whose function the context names.
Invariant: a result depends on the sizes and the way only, never on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from thunk.backends.cpu.calls.native import native
from thunk.backends.cpu.calls.pool import openmp
from thunk.backends.cpu.llvm.gemm_blas import blas_kernel
from thunk.backends.cpu.llvm.gemm_builder import (
    POINTER,
    STATUS,
    WORD,
    Builder,
    Lanes,
    Value,
    word,
)
from thunk.backends.cpu.llvm.gemm_context import (
    LEFT_AT,
    PANEL_INNER,
    PANEL_ROWS,
    RIGHT_AT,
    ROWS,
    Split,
    Way,
    Word,
    widths,
)
from thunk.backends.cpu.llvm.gemm_tile import (
    ACCUMULATE,
    ARGUMENTS,
    BIAS,
    RELU,
    dot_tile,
    spread_tile,
)


class _Module:
    """The functions of one element type and way, each made of those before it."""

    def __init__(self, scalar: Any, size: int, way: Way, threaded: bool) -> None:
        self.module = ir.Module("gemm")
        self.scalar, self.way = scalar, way
        self.widths = widths(size)
        self.kinds = [f"{each}v" for each in self.widths.vectors] + ["rest"]
        make: dict[Way, Callable[[], Any]] = {
            Way.DOT: self._dot,
            Way.SPREAD: self._spread,
            Way.PACKED: self._packed,
            Way.BLAS: lambda: blas_kernel(self.module, scalar),
        }
        self.kernel = make[way]()
        self.part = self._part()
        self._entry(threaded)

    def _by_rows(self, name: str, tiles: dict[int, Any], sizes: tuple[int, ...]) -> Any:
        """Every row of a strip of columns; the last argument is the number of rows."""
        build = Builder(self.module, name, (*ARGUMENTS, WORD))
        arguments, count = build.arguments[:-1], build.arguments[-1]
        left, down, out, out_down = arguments[1], arguments[2], arguments[6], arguments[7]
        done = build.slot(WORD, word(0))
        for size in sizes:
            start = build.ir.load(done, typ=WORD)
            stop = build.ir.sub(count, word(size - 1))
            with build.loop(start, stop, size) as row:
                here = list(arguments)
                here[1] = build.at(left, self.scalar, build.mul(row, down))
                here[6] = build.at(out, self.scalar, build.mul(row, out_down))
                build.ir.call(tiles[size], here)
                build.ir.store(build.add(row, word(size)), done)
        build.ir.ret_void()
        return build.function

    def _rows(self, kind: str) -> Any:
        vectors = 1 if kind == "rest" else int(kind[:-1])
        tiles = {
            rows: spread_tile(
                self.module, f"spread_{rows}_{kind}", self.scalar, self.widths.lanes, rows,
                vectors, kind == "rest",
            )
            for rows in ROWS
        }  # fmt: skip
        return self._by_rows(f"rows_{kind}", tiles, ROWS)

    def _spread(self) -> Any:
        """All rows and columns; the arguments are those of a strip."""
        strips = {kind: self._rows(kind) for kind in self.kinds}
        build = Builder(self.module, "spread", (*ARGUMENTS, WORD))
        arguments = build.arguments
        columns, lanes = arguments[10], self.widths.lanes
        done = build.slot(WORD, word(0))

        def strip(kind: str, column: Value, width: Value) -> None:
            here = list(arguments)
            for position in (4, 6, 8):
                here[position] = build.at(arguments[position], self.scalar, column)
            here[10] = width
            build.ir.call(strips[kind], here)
            build.ir.store(build.add(column, width), done)

        for kind in self.kinds[:-1]:
            width = int(kind[:-1]) * lanes
            start = build.ir.load(done, typ=WORD)
            with build.loop(start, build.ir.sub(columns, word(width - 1)), width) as column:
                strip(kind, column, word(width))
        column = build.ir.load(done, typ=WORD)
        with build.ir.if_then(build.ir.icmp_signed("<", column, columns)):
            strip("rest", column, build.ir.sub(columns, column))
        build.ir.ret_void()
        return build.function

    def _dot(self) -> Any:
        """Like `_spread`, with `step` from one column of the right matrix to the next."""
        lanes = self.widths.lanes
        strips = {}
        for width, sizes in ((4, (4, 1)), (8, (1,)), (1, (4, 1))):
            tiles = {
                rows: dot_tile(self.module, f"dot_{rows}_{width}", self.scalar, lanes, rows, width)
                for rows in sizes
            }
            strips[width] = self._by_rows(f"dots_{width}", tiles, sizes)
        build = Builder(self.module, "dot", (*ARGUMENTS, WORD))
        arguments, count = build.arguments, build.arguments[11]
        right, step, columns = arguments[4], arguments[5], arguments[10]
        done = build.slot(WORD, word(0))
        single = build.ir.icmp_signed("<", count, word(4))
        for width in (8, 4, 1):
            start = build.ir.load(done, typ=WORD)
            stop = build.ir.sub(columns, word(width - 1))
            if width == 8:  # one row wants more sums at once than a square tile has
                stop = build.ir.select(single, stop, word(0))
            with build.loop(start, stop, width) as column:
                here = list(arguments)
                here[4] = build.at(right, self.scalar, build.mul(column, step))
                for position in (6, 8):
                    here[position] = build.at(arguments[position], self.scalar, column)
                build.ir.call(strips[width], here)
                build.ir.store(build.add(column, word(width)), done)
        build.ir.ret_void()
        return build.function

    def _packed(self) -> Any:
        """Like `_spread`, for any strides of the right matrix; the panel is the last argument."""
        spread = self._spread()
        extra = (WORD, WORD, POINTER)  # rows, the right matrix's stride across, scratch memory
        build = Builder(self.module, "packed", (*ARGUMENTS, *extra))
        (
            inner, left, down, across, right, step, out, out_down, bias, mode, columns, rows,
            right_across, panel,
        ) = build.arguments  # fmt: skip
        widest = word(self.widths.widest)
        with build.loop(word(0), rows, PANEL_ROWS) as row:
            height = build.smaller(word(PANEL_ROWS), build.ir.sub(rows, row))
            with build.loop(word(0), columns, self.widths.widest) as column:
                width = build.smaller(widest, build.ir.sub(columns, column))
                with build.loop(word(0), inner, PANEL_INNER) as depth:
                    deep = build.smaller(word(PANEL_INNER), build.ir.sub(inner, depth))
                    origin = build.add(build.mul(depth, step), build.mul(column, right_across))
                    start = build.at(right, self.scalar, origin)
                    self._pack(build, start, step, right_across, panel, deep, width)
                    place = build.add(build.mul(row, down), build.mul(depth, across))
                    result = build.add(build.mul(row, out_down), column)
                    last = build.ir.icmp_signed(">=", build.add(depth, deep), inner)
                    build.ir.call(spread, [
                        deep, build.at(left, self.scalar, place), down, across, panel, widest,
                        build.at(out, self.scalar, result), out_down,
                        build.at(bias, self.scalar, column),
                        self._mode(build, mode, depth, last), width, height,
                    ])  # fmt: skip
        build.ir.ret_void()
        return build.function

    def _mode(self, build: Builder, mode: Value, depth: Value, last: Value) -> Value:
        """The first panel takes what is added, the last one is cut off."""
        first = build.ir.icmp_signed("==", depth, word(0))
        start = build.ir.and_(mode, word(ACCUMULATE | BIAS))
        begun = build.ir.select(first, start, word(ACCUMULATE))
        end = build.ir.select(last, build.ir.and_(mode, word(RELU)), word(0))
        return build.ir.or_(begun, end)

    def _pack(
        self, build: Builder, start: Value, step: Value, across: Value, panel: Value,
        deep: Value, width: Value,
    ) -> None:  # fmt: skip
        """Copy one panel, along whichever dimension lies densely."""
        widest = word(self.widths.widest)

        vector = Lanes(build, self.scalar, self.widths.lanes)

        def places(row: Value, column: Value) -> tuple[Value, Value]:
            source = build.add(build.mul(row, step), build.mul(column, across))
            target = build.add(build.mul(row, widest), column)
            return build.at(start, self.scalar, source), build.at(panel, self.scalar, target)

        def copy(row: Value, column: Value) -> None:
            source, target = places(row, column)
            build.ir.store(build.ir.load(source, typ=self.scalar), target)

        dense = build.ir.icmp_signed("==", across, word(1))
        with build.ir.if_else(dense) as (along, other):
            with along, build.loop(word(0), deep) as row:
                rest = build.ir.and_(width, word(vector.count - 1))
                whole = build.ir.sub(width, rest)
                with build.loop(word(0), whole, vector.count) as column:
                    source, target = places(row, column)
                    vector.store(vector.load(source), target)
                with build.loop(whole, width) as column:
                    copy(row, column)
            with other, build.loop(word(0), width) as column, build.loop(word(0), deep) as row:
                copy(row, column)

    def _part(self) -> Any:
        """The share of one thread: pointers, context, thread, threads."""
        build = Builder(self.module, "part", (POINTER, POINTER, WORD, WORD))
        pointers, context, thread, threads = build.arguments
        get: dict[Word, Value] = {
            each: build.word_at(context, each) for each in Word if each is not Word.END
        }
        split = get[Word.SPLIT]
        ranges = {
            Split.BATCH: (get[Word.BATCH], 1),
            Split.ROWS: (get[Word.ROWS], 2 * ROWS[0]),
            Split.COLUMNS: (get[Word.COLUMNS], self.widths.widest),
        }
        bounds = {}
        for kind, (size, unit) in ranges.items():
            chosen = build.ir.icmp_signed("==", split, word(kind))
            units = build.ir.sdiv(build.add(size, word(unit - 1)), word(unit))
            share = build.ir.sdiv(build.add(units, threads, word(-1)), threads)
            share = build.mul(share, word(unit))
            begin = build.smaller(build.mul(share, thread), size)
            end = build.smaller(build.add(begin, share), size)
            bounds[kind] = (
                build.ir.select(chosen, begin, word(0)),
                build.ir.select(chosen, end, size),
            )
        row, row_end = bounds[Split.ROWS]
        column, column_end = bounds[Split.COLUMNS]
        offsets = build.at(context, WORD, word(Word.END))
        with build.loop(*bounds[Split.BATCH]) as member:
            self._member(build, pointers, get, offsets, member, thread, (row, column))(
                build.ir.sub(row_end, row), build.ir.sub(column_end, column)
            )
        build.ir.ret_void()
        return build.function

    def _member(
        self, build: Builder, pointers: Value, get: dict[Word, Value], offsets: Value,
        member: Value, thread: Value, corner: tuple[Value, Value],
    ) -> Any:  # fmt: skip
        """Calls the kernel on a block of one matrix of the batch."""
        row, column = corner
        context = build.arguments[1]
        own = build.at(offsets, WORD, build.mul(member, word(3)))

        def start(position: Value, member: int, place: Value) -> Value:
            base = build.pointer_at(pointers, position)
            moved = build.at(base, ir.IntType(8), build.word_at(own, member))
            return build.at(moved, self.scalar, place)

        across, step = get[Word.RIGHT_ACROSS], get[Word.RIGHT_DOWN]
        left = start(word(LEFT_AT), 0, build.mul(row, get[Word.LEFT_DOWN]))
        right = start(word(RIGHT_AT), 1, build.mul(column, across))
        place = build.add(build.mul(row, get[Word.OUT_DOWN]), column)
        out = start(get[Word.OUT_AT], 2, place)
        bias = build.at(build.pointer_at(pointers, get[Word.BIAS_AT]), self.scalar, column)
        panel = build.pointer_at(pointers, get[Word.SCRATCH_AT])
        size = PANEL_INNER * self.widths.widest
        panel = build.at(panel, self.scalar, build.mul(thread, word(size)))
        head = [get[Word.INNER], left, get[Word.LEFT_DOWN], get[Word.LEFT_ACROSS], right]
        tail = [out, get[Word.OUT_DOWN], bias, get[Word.MODE]]

        def run(rows: Value, columns: Value) -> None:
            some = build.ir.and_(
                build.ir.icmp_signed(">", rows, word(0)),
                build.ir.icmp_signed(">", columns, word(0)),
            )
            with build.ir.if_then(some):
                if self.way is Way.DOT:
                    build.ir.call(self.kernel, [*head, across, *tail, columns, rows])
                elif self.way is Way.SPREAD:
                    build.ir.call(self.kernel, [*head, step, *tail, columns, rows])
                elif self.way is Way.BLAS:
                    function = build.pointer_at(context, word(Word.FUNCTION))
                    last = (columns, rows, across, function)
                    build.ir.call(self.kernel, [*head, step, *tail, *last])
                else:
                    last = (columns, rows, across, panel)
                    build.ir.call(self.kernel, [*head, step, *tail, *last])

        return run

    def _entry(self, threaded: bool) -> None:
        """The function that everybody calls; it forks if the context asks for threads."""
        pair = ir.LiteralStructType([POINTER, POINTER])
        build = Builder(self.module, "gemm", (POINTER, POINTER), STATUS, inner=False)
        pointers, context = build.arguments
        serial = [pointers, context, word(0), word(1)]
        if threaded:
            body = self._body(pair)
            threads = build.word_at(context, Word.THREADS)
            with build.ir.if_then(build.ir.icmp_signed(">", threads, word(1))):
                both = build.slot(pair, ir.Constant(pair, ir.Undefined))
                for index, value in enumerate((pointers, context)):
                    build.ir.store(value, build.at(both, POINTER, word(index)))
                count = build.ir.trunc(threads, STATUS)
                zero = ir.Constant(STATUS, 0)
                build.intrinsic("GOMP_parallel", ir.VoidType(), body, both, count, zero)
                build.ir.ret(zero)
        build.ir.call(self.part, serial)
        build.ir.ret(ir.Constant(STATUS, 0))

    def _body(self, pair: Any) -> Any:
        """What each thread of the pool runs."""
        build = Builder(self.module, "body", (POINTER,))
        (both,) = build.arguments
        numbers = [
            build.ir.zext(build.intrinsic(name, STATUS), WORD)
            for name in ("omp_get_thread_num", "omp_get_num_threads")
        ]
        pointers = [build.pointer_at(both, word(index)) for index in (0, 1)]
        build.ir.call(self.part, [*pointers, *numbers])
        build.ir.ret_void()
        return build.function


def gemm_function(size: int, way: Way) -> int:
    """The address of the function for float32 (`size` 4) or float64 (`size` 8)."""
    return _function(size, way, openmp() is not None)


@native("gemm")
def _function(size: int, way: Way, threaded: bool) -> str:
    scalar = ir.FloatType() if size == 4 else ir.DoubleType()
    return str(_Module(scalar, size, way, threaded).module)
