"""Enters: sizes of a batch of dense matrices. Leaves: code that factors them, or solves, in place.

The functions are `int (void **pointers, void *context)`; sizes are constants in them, the context
is not read. Their status is 0, or says which matrix failed first and where: see `failed`.
Invariant: matrices lie one after another, row by row; loops over a row are innermost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from llvmlite import ir

from thunk.backends.cpu.calls.native import native
from thunk.backends.cpu.llvm.gemm_builder import POINTER, STATUS, WORD, Builder, Value, word
from thunk.backends.cpu.llvm.strided import DOUBLE, SINGLE

MOST_PLACES: Final = 1 << 12  # a status counts places within a matrix up to here
MOST_MATRICES: Final = 1 << 17


def failed(status: int) -> tuple[int, int]:
    """The first matrix that failed, from zero, and the place in it, from one."""
    return divmod(status, MOST_PLACES)


class Routine:
    """A function over batches of matrices, being built."""

    def __init__(self, name: str, single: bool) -> None:
        self.module = ir.Module(name)
        self.build = Builder(self.module, name, (POINTER, POINTER), STATUS, inner=False)
        self.ir = self.build.ir
        self.kind = SINGLE if single else DOUBLE
        self.status = self.build.slot(STATUS, STATUS(0))

    def pointer(self, index: int) -> Value:
        return self.build.pointer_at(self.build.arguments[0], word(index))

    def matrix(self, base: Value, batch: Value, rows: int, columns: int) -> Matrix:
        """Number `batch` of the matrices at `base`."""
        start = self.build.mul(batch, word(rows * columns))
        return Matrix(self, self.build.at(base, self.kind, start), columns)

    def numbers(self, base: Value, batch: Value, count: int) -> Value:
        """Where row `batch` of a table of 32-bit numbers starts."""
        return self.build.at(base, STATUS, self.build.mul(batch, word(count)))

    def set_number(self, base: Value, index: Value, value: Value) -> None:
        self.ir.store(self.ir.trunc(value, STATUS), self.build.at(base, STATUS, index))

    def constant(self, number: float) -> Value:
        return ir.Constant(self.kind, number)

    def variable(self, first: Value) -> Variable:
        return Variable(self.build, first)

    def size_of(self, value: Value) -> Value:
        """The absolute value."""
        suffix = "f32" if self.kind == SINGLE else "f64"
        return self.build.intrinsic(f"llvm.fabs.{suffix}", self.kind, value)

    def root(self, value: Value) -> Value:
        suffix = "f32" if self.kind == SINGLE else "f64"
        return self.build.intrinsic(f"llvm.sqrt.{suffix}", self.kind, value)

    @contextmanager
    def downwards(self, count: Value) -> Iterator[Value]:
        """Counts from the last to the first."""
        with self.build.loop(word(0), count) as done:
            yield self.ir.sub(self.ir.sub(count, word(1)), done)

    def note(self, batch: Value, place: Value) -> None:
        """Remember the first matrix of a positive place; later ones do not count."""
        with self.ir.if_then(self.ir.and_(
            self.ir.icmp_signed(">", place, word(0)),
            self.ir.icmp_signed("==", self.ir.load(self.status, typ=STATUS), STATUS(0)),
        )):  # fmt: skip
            code = self.build.add(self.build.mul(batch, word(MOST_PLACES)), place)
            self.ir.store(self.ir.trunc(code, STATUS), self.status)

    def text(self) -> str:
        """Return from the function; its module."""
        self.ir.ret(self.ir.load(self.status, typ=STATUS))
        return str(self.module)


class Variable:
    """A value that code changes."""

    def __init__(self, build: Builder, first: Value) -> None:
        self.build = build
        self.kind = first.type
        self.place = build.slot(self.kind, first)

    def get(self) -> Value:
        return self.build.ir.load(self.place, typ=self.kind)

    def set(self, value: Value) -> None:
        self.build.ir.store(value, self.place)

    def set_if(self, condition: Value, value: Value) -> None:
        self.set(self.build.ir.select(condition, value, self.get()))


class Matrix:
    """One matrix in memory."""

    def __init__(self, routine: Routine, base: Value, columns: int) -> None:
        self.routine = routine
        self.base = base
        self.columns = columns

    def _at(self, row: Value, column: Value) -> Value:
        build = self.routine.build
        place = build.add(build.mul(row, word(self.columns)), column)
        return build.at(self.base, self.routine.kind, place)

    def get(self, row: Value, column: Value) -> Value:
        return self.routine.ir.load(self._at(row, column), typ=self.routine.kind)

    def set(self, row: Value, column: Value, value: Value) -> None:
        self.routine.ir.store(value, self._at(row, column))

    def add_row(self, row: Value, other: Value, factor: Value, start: Value) -> None:
        """Subtract `factor` times row `other` from `row`, from column `start` on."""
        routine = self.routine
        with routine.build.loop(start, word(self.columns)) as column:
            product = routine.ir.fmul(factor, self.get(other, column))
            self.set(row, column, routine.ir.fsub(self.get(row, column), product))

    def swap_rows(self, one: Value, other: Value) -> None:
        with self.routine.build.loop(word(0), word(self.columns)) as column:
            pair = self.get(one, column), self.get(other, column)
            self.set(one, column, pair[1])
            self.set(other, column, pair[0])


@native("lu_factor", vectorise=True)
def lu_factor(
    single: bool, count: int, rows: int, columns: int, pivot: bool, raises: bool
) -> str:
    """Matrices become their packed factors; pivots from one, and the first zero pivots."""
    routine = Routine("lu_factor", single)
    build, steps = routine.build, min(rows, columns)
    matrices, pivots, info = (routine.pointer(index) for index in range(3))
    with build.loop(word(0), word(count)) as batch:
        a = routine.matrix(matrices, batch, rows, columns)
        swaps = routine.numbers(pivots, batch, steps)
        zero = routine.variable(word(0))
        with build.loop(word(0), word(steps)) as step:
            following = build.add(step, word(1))
            place = _largest(routine, a, step, rows) if pivot else step
            routine.set_number(swaps, step, build.add(place, word(1)))
            with routine.ir.if_then(routine.ir.icmp_signed("!=", place, step)):
                a.swap_rows(step, place)
            head = a.get(step, step)
            gone = routine.ir.fcmp_ordered("==", head, routine.constant(0.0))
            first = routine.ir.and_(gone, routine.ir.icmp_signed("==", zero.get(), word(0)))
            zero.set_if(first, following)
            divisor = routine.ir.select(gone, routine.constant(1.0), head)
            with build.loop(following, word(rows)) as row:
                factor = routine.ir.fdiv(a.get(row, step), divisor)
                a.set(row, step, factor)
                a.add_row(row, step, factor, following)
        routine.set_number(info, batch, zero.get())
        if raises:
            routine.note(batch, zero.get())
    return routine.text()


def _largest(routine: Routine, a: Matrix, step: Value, rows: int) -> Value:
    """The row of the largest element below the diagonal, and on it; NaN is larger than all."""
    place = routine.variable(step)
    best = routine.variable(routine.size_of(a.get(step, step)))
    with routine.build.loop(routine.build.add(step, word(1)), word(rows)) as row:
        size = routine.size_of(a.get(row, step))
        held = best.get()
        known = routine.ir.fcmp_ordered("ord", held, held)
        larger = routine.ir.fcmp_unordered(">", size, held)
        better = routine.ir.and_(known, larger)
        place.set_if(better, row)
        best.set_if(better, size)
    return place.get()


@native("substitute", vectorise=True)
def substitute(
    single: bool, count: int, size: int, sides: int, upper: bool, unit: bool, raises: bool = False
) -> str:
    """Right sides (size, sides) become solutions of systems with one triangle of (size, size)."""
    routine = Routine("substitute", single)
    build = routine.build
    triangles, solutions = (routine.pointer(index) for index in range(2))
    with build.loop(word(0), word(count)) as batch:
        a = routine.matrix(triangles, batch, size, size)
        x = routine.matrix(solutions, batch, size, sides)
        whole = word(size)
        counting = routine.downwards(whole) if upper else build.loop(word(0), whole)
        with counting as row:
            known = (build.add(row, word(1)), whole) if upper else (word(0), row)
            with build.loop(*known) as other:
                x.add_row(row, other, a.get(row, other), word(0))
            if raises:
                gone = routine.ir.fcmp_ordered("==", a.get(row, row), routine.constant(0.0))
                place = build.add(row, word(1))
                routine.note(batch, routine.ir.select(gone, place, word(0)))
            if not unit:
                with build.loop(word(0), word(sides)) as column:
                    found = routine.ir.fdiv(x.get(row, column), a.get(row, row))
                    x.set(row, column, found)
    return routine.text()


@native("cholesky_factor", vectorise=True)
def cholesky_factor(single: bool, count: int, size: int, raises: bool) -> str:
    """Lower triangles become lower factors; the first leading minors that are not positive."""
    routine = Routine("cholesky_factor", single)
    build = routine.build
    matrices, info = (routine.pointer(index) for index in range(2))
    with build.loop(word(0), word(count)) as batch:
        a = routine.matrix(matrices, batch, size, size)
        bad = routine.variable(word(0))
        with build.loop(word(0), word(size)) as step:
            following = build.add(step, word(1))
            head = _less_products(routine, a, step, step)
            fails = routine.ir.not_(routine.ir.fcmp_ordered(">", head, routine.constant(0.0)))
            first = routine.ir.and_(fails, routine.ir.icmp_signed("==", bad.get(), word(0)))
            bad.set_if(first, following)
            with routine.ir.if_then(routine.ir.icmp_signed("==", bad.get(), word(0))):
                root = routine.root(head)
                a.set(step, step, root)
                with build.loop(following, word(size)) as row:
                    rest = _less_products(routine, a, row, step)
                    a.set(row, step, routine.ir.fdiv(rest, root))
        routine.set_number(info, batch, bad.get())
        if raises:
            routine.note(batch, bad.get())
    return routine.text()


def _less_products(routine: Routine, a: Matrix, row: Value, column: Value) -> Value:
    """An element less the products of the columns before it."""
    rest = routine.variable(a.get(row, column))
    with routine.build.loop(word(0), column) as before:
        product = routine.ir.fmul(a.get(row, before), a.get(column, before))
        rest.set(routine.ir.fsub(rest.get(), product))
    return rest.get()


@native("repeated_squares", vectorise=True)
def repeated_squares(single: bool, count: int, size: int) -> str:
    """Matrices are squared as often as a number each says; then there is room for one matrix."""
    routine = Routine("repeated_squares", single)
    build = routine.build
    often, matrices, room = (routine.pointer(index) for index in range(3))
    whole = word(size)
    with build.loop(word(0), word(count)) as batch:
        a = routine.matrix(matrices, batch, size, size)
        square = routine.matrix(room, word(0), size, size)
        times = routine.ir.load(build.at(often, WORD, batch), typ=WORD)
        with build.loop(word(0), times):
            with build.loop(word(0), whole) as row:
                with build.loop(word(0), whole) as column:
                    square.set(row, column, routine.constant(0.0))
                with build.loop(word(0), whole) as inner:
                    factor = a.get(row, inner)
                    with build.loop(word(0), whole) as column:
                        product = routine.ir.fmul(factor, a.get(inner, column))
                        total = routine.ir.fadd(square.get(row, column), product)
                        square.set(row, column, total)
            with build.loop(word(0), whole) as row, build.loop(word(0), whole) as column:
                a.set(row, column, square.get(row, column))
    return routine.text()


@native("order_of_swaps")
def order_of_swaps(count: int, steps: int, rows: int) -> str:
    """Which row of the matrix each row of the factors is; the status says if there is none."""
    routine = Routine("order_of_swaps", True)
    build = routine.build
    swaps, orders = (routine.pointer(index) for index in range(2))
    with build.loop(word(0), word(count)) as batch:
        own = routine.numbers(swaps, batch, steps)
        order = build.at(orders, WORD, build.mul(batch, word(rows)))
        with build.loop(word(0), word(rows)) as row:
            routine.ir.store(row, build.at(order, WORD, row))
        with build.loop(word(0), word(steps)) as step:
            swap: Any = routine.ir.load(build.at(own, STATUS, step), typ=STATUS)
            place = routine.ir.sub(routine.ir.sext(swap, WORD), word(1))
            inside = routine.ir.icmp_unsigned("<", place, word(rows))
            routine.note(batch, routine.ir.zext(routine.ir.not_(inside), WORD))
            spots = [build.at(order, WORD, each)
                     for each in (step, routine.ir.select(inside, place, step))]  # fmt: skip
            pair = [routine.ir.load(each, typ=WORD) for each in spots]
            for spot, value in zip(spots, reversed(pair), strict=True):
                routine.ir.store(value, spot)
    return routine.text()
