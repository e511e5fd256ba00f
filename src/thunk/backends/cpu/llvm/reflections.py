"""Enters: sizes of a batch of dense matrices. Leaves: code for QR by reflections and for their use.

Invariant: a reflection is 1 - tau v v^T with v = 1 at its own row, nothing above, and the packed
column below; a column that is zero below needs none, and its tau is 0.
"""

from __future__ import annotations

from thunk.backends.cpu.calls.native import native
from thunk.backends.cpu.llvm.gemm_builder import Value, word
from thunk.backends.cpu.llvm.matrices import Matrix, Routine


def _reflect(
    routine: Routine, value: Matrix, packed: Matrix, step: Value, scale: Value, start: Value,
    rows: int, sums: Value,
) -> None:  # fmt: skip
    """Apply the reflection in column `step` of `packed` to the columns of `value` from `start`."""
    build = routine.build
    row_of_sums = Matrix(routine, sums, value.columns)
    first, columns = word(0), word(value.columns)
    below = build.add(step, word(1))
    with build.loop(start, columns) as column:
        row_of_sums.set(first, column, value.get(step, column))
    with build.loop(below, word(rows)) as row:
        factor = packed.get(row, step)
        with build.loop(start, columns) as column:
            product = routine.ir.fmul(factor, value.get(row, column))
            total = routine.ir.fadd(row_of_sums.get(first, column), product)
            row_of_sums.set(first, column, total)
    with build.loop(start, columns) as column:
        scaled = routine.ir.fmul(scale, row_of_sums.get(first, column))
        row_of_sums.set(first, column, scaled)
        value.set(step, column, routine.ir.fsub(value.get(step, column), scaled))
    with build.loop(below, word(rows)) as row:
        factor = packed.get(row, step)
        with build.loop(start, columns) as column:
            product = routine.ir.fmul(factor, row_of_sums.get(first, column))
            value.set(row, column, routine.ir.fsub(value.get(row, column), product))


def _length_below(routine: Routine, a: Matrix, step: Value, rows: int) -> Value:
    """The norm of a column below the diagonal; scaled, so that no square overflows."""
    build = routine.build
    largest = routine.variable(routine.constant(0.0))
    below = build.add(step, word(1))
    with build.loop(below, word(rows)) as row:
        size = routine.size_of(a.get(row, step))
        largest.set_if(routine.ir.fcmp_unordered(">", size, largest.get()), size)
    scale = largest.get()
    gone = routine.ir.fcmp_ordered("==", scale, routine.constant(0.0))
    divisor = routine.ir.select(gone, routine.constant(1.0), scale)
    total = routine.variable(routine.constant(0.0))
    with build.loop(below, word(rows)) as row:
        part = routine.ir.fdiv(a.get(row, step), divisor)
        total.set(routine.ir.fadd(total.get(), routine.ir.fmul(part, part)))
    return routine.ir.fmul(divisor, routine.root(total.get()))


def _hypotenuse(routine: Routine, x: Value, y: Value) -> Value:
    """The root of the sum of squares of two numbers, the second above zero."""
    size = routine.size_of(x)
    first = routine.ir.fcmp_ordered(">", size, y)
    large = routine.ir.select(first, size, y)
    small = routine.ir.select(first, y, size)
    ratio = routine.ir.fdiv(small, large)
    square = routine.ir.fmul(ratio, ratio)
    return routine.ir.fmul(large, routine.root(routine.ir.fadd(square, routine.constant(1.0))))


@native("qr_factor", vectorise=True)
def qr_factor(single: bool, count: int, rows: int, columns: int) -> str:
    """Matrices become packed reflections with R above; their taus; room for one row."""
    routine = Routine("qr_factor", single)
    build, steps = routine.build, min(rows, columns)
    matrices, scales, sums = (routine.pointer(index) for index in range(3))
    with build.loop(word(0), word(count)) as batch:
        a = routine.matrix(matrices, batch, rows, columns)
        tau = routine.matrix(scales, batch, 1, steps)
        with build.loop(word(0), word(steps)) as step:
            below = build.add(step, word(1))
            length = _length_below(routine, a, step, rows)
            zero = routine.constant(0.0)
            gone = routine.ir.fcmp_ordered("==", length, zero)
            tau.set(word(0), step, zero)
            with routine.ir.if_then(routine.ir.not_(gone)):
                head = a.get(step, step)
                size = _hypotenuse(routine, head, length)
                negative = routine.ir.fcmp_ordered("<", head, zero)
                beta = routine.ir.select(negative, size, routine.ir.fneg(size))
                scale = routine.ir.fdiv(routine.ir.fsub(beta, head), beta)
                divisor = routine.ir.fsub(head, beta)
                with build.loop(below, word(rows)) as row:
                    a.set(row, step, routine.ir.fdiv(a.get(row, step), divisor))
                a.set(step, step, beta)
                tau.set(word(0), step, scale)
                _reflect(routine, a, a, step, scale, below, rows, sums)
    return routine.text()


@native("reflect", vectorise=True)
def reflect(
    single: bool, count: int, rows: int, packed_columns: int, steps: int, columns: int,
    forward: bool,
) -> str:  # fmt: skip
    """Reflections in packed matrices, with their taus, applied to other matrices in place."""
    routine = Routine("reflect", single)
    build = routine.build
    matrices, scales, values, sums = (routine.pointer(index) for index in range(4))
    with build.loop(word(0), word(count)) as batch:
        packed = routine.matrix(matrices, batch, rows, packed_columns)
        tau = routine.matrix(scales, batch, 1, steps)
        value = routine.matrix(values, batch, rows, columns)
        whole = word(steps)
        counting = build.loop(word(0), whole) if forward else routine.downwards(whole)
        with counting as step:
            scale = tau.get(word(0), step)
            _reflect(routine, value, packed, step, scale, word(0), rows, sums)
    return routine.text()
