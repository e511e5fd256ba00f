"""LU factorizations of small matrices, and systems, inverses and determinants by them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from thunk.backends.cpu.llvm.matrices import (
    lu_factor,
    order_of_swaps,
    repeated_squares,
    substitute,
)
from thunk.backends.cpu.lowering.matrices import (
    Stack,
    call,
    check_small,
    copied,
    filled,
    singular,
    stack,
    store,
)
from thunk.backends.reference.linalg_parts import PADE, WIDEST
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d

Sides = Callable[[Domain, Expression | None], Expression]  # loops, rows to take: right sides


def _factored(
    at: At, a: Value, pivot: bool, message: str | None = None
) -> tuple[Stack, Stack, Stack]:
    """Packed factors, pivots and first zero pivots; these raise if there is a message."""
    check_small(a)
    batch = a.spec.shape[:-2]
    packed = copied(at, a, batch)
    size = min(packed.rows, packed.columns)
    pivots, info = stack(at, (*batch, size), d.int32), stack(at, batch, d.int32)
    function = lu_factor(
        packed.is_single, packed.count, packed.rows, packed.columns, pivot, message is not None
    )
    failure = None if message is None else singular(message, bool(batch))
    call(at, function, [], [packed, pivots, info], failure)
    return packed, pivots, info


def _store_factors(at: At, first: int, *stacks: Stack) -> None:
    for index, each in enumerate(stacks, first):
        store(at, index, each.read)


def _order(at: At, pivots: Stack, rows: int, name: str = "") -> Stack:
    """Which row of the matrix each row of the factors is."""
    *batch, steps = pivots.shape
    order = stack(at, (*batch, rows), d.int64)
    count = int(numpy.prod(batch))

    def failure(status: int) -> BaseException:
        return RuntimeError(
            f"{name}: expected pivots between 1 and the number of rows ({rows}), got others; "
            "pass those of lu_factor"
        )

    call(at, order_of_swaps(count, steps, rows), [pivots], [order], failure)
    return order


def _along_rows(domain: Domain, table: Stack) -> Expression:
    """A number for each row, in loops whose last two are rows and columns."""
    return table.read(domain, table.access.over((*table.access.strides, 0)))


def _substituted(at: At, a: Stack, x: Stack, upper: bool, unit: bool) -> None:
    function = substitute(x.is_single, x.count, x.rows, x.columns, upper, unit)
    call(at, function, [a], [x])


def _repeated(at: At, table: Stack, batch: Sequence[int], kept: int) -> Stack:
    """A stack with the batch's dimensions in front of its last `kept`."""
    shape = (*batch, *table.shape[-kept:])
    if shape == table.shape:
        return table
    return filled(at, shape, table.access.element, table.read)


def _solved(
    at: At, packed: Stack, pivots: Stack, shape: tuple[int, ...], sides: Sides, turned: bool
) -> Stack:
    """The solutions of this shape; if `turned`, of the transposes' systems."""
    batch, rows = shape[:-2], shape[-2]
    element = packed.access.element
    packed = _repeated(at, packed, batch, 2)
    order = _repeated(at, _order(at, pivots, rows, at.node.op.name), batch, 1)
    if not turned:
        found = filled(
            at, shape, element, lambda domain: sides(domain, _along_rows(domain, order))
        )
        _substituted(at, packed, found, upper=False, unit=True)
        _substituted(at, packed, found, upper=True, unit=False)
        return found
    other = filled(
        at, packed.shape, element, lambda domain: packed.read(domain, packed.turned())
    )
    found = filled(at, shape, element, lambda domain: sides(domain, None))
    _substituted(at, other, found, upper=False, unit=False)
    _substituted(at, other, found, upper=True, unit=True)
    result = stack(at, shape, element)
    domain = at.over(shape)
    rank = len(shape)
    still = tuple([0 if loop == rank - 2 else step
                   for loop, step in enumerate(result.access.strides)])  # fmt: skip
    place = _along_rows(domain, order) * result.access.strides[-2]
    domain.scatter(result.access.over(still), place, found.read(domain), (rank - 2,))
    return result


def _matrices_of(value: Value, turned: bool, vector: bool) -> Sides:
    """An operand's right sides: its matrices, their transposes, or its vectors as columns."""

    def sides(domain: Domain, rows: Expression | None) -> Expression:
        spec = value.spec
        steps = [0 if size == 1 else step
                 for size, step in zip(spec.shape, spec.strides, strict=True)]  # fmt: skip
        if vector:
            steps.append(0)
        if turned:
            steps[-2:] = steps[:-3:-1]
        steps = [0] * (len(domain.sizes) - len(steps)) + steps
        if rows is None:
            return domain.read_as(value, tuple(steps))
        step, steps[-2] = steps[-2], 0
        access = Access(domain.lower.buffer(value), spec.dtype, tuple(steps), spec.offset)
        return domain.terms.lookup(access, rows * step)

    return sides


def _identity(element: Any) -> Sides:
    def sides(domain: Domain, rows: Expression | None) -> Expression:
        rank = len(domain.sizes)
        row = domain.place(rank - 2) if rows is None else rows
        return row.eq(domain.place(rank - 1)).to(element)

    return sides


@lowering("linalg_lu_factor_ex")
def lu_factor_ex(at: At, A: Value, pivot: bool, check_errors: bool) -> None:
    message = (
        "linalg.lu_factor: {place}U[{number},{number}] is zero and using it on lu_solve would "
        "result in a division by zero; use linalg.lu or linalg.lu_factor_ex to go on"
    )
    _store_factors(at, 0, *_factored(at, A, pivot, message if check_errors else None))


def _store_parts(at: At, first: int, term: Callable[[Domain], Expression]) -> None:
    """The lower factor with ones on its diagonal, and the upper factor, of packed factors."""

    def lower(domain: Domain) -> Expression:
        row, column = _places(domain)
        return (column < row).where(term(domain), column.eq(row).to(at.result.dtype))

    def upper(domain: Domain) -> Expression:
        row, column = _places(domain)
        return (column >= row).where(term(domain), 0)

    store(at, first, lower)
    store(at, first + 1, upper)


def _places(domain: Domain) -> tuple[Expression, Expression]:
    rank = len(domain.sizes)
    return domain.place(rank - 2), domain.place(rank - 1)


def _store_order(at: At, order: Stack) -> None:
    """The matrix P of A = PLU."""

    def term(domain: Domain) -> Expression:
        *batch, step = order.access.strides
        column = order.read(domain, order.access.over((*batch, 0, step)))
        return column.eq(_places(domain)[0]).to(at.result.dtype)

    store(at, 0, term)


@lowering("linalg_lu")
def lu(at: At, A: Value, pivot: bool) -> None:
    packed, pivots, _ = _factored(at, A, pivot)
    if pivot:
        _store_order(at, _order(at, pivots, packed.rows))
    _store_parts(at, 1, lambda domain: at.terms.load(packed.access))


@lowering("lu_unpack")
def lu_unpack(
    at: At, LU: Value, pivots: Value, unpack_data: bool, unpack_pivots: bool
) -> None:
    check_small(LU)
    if unpack_pivots:
        table = filled(at, pivots.spec.shape, d.int32, lambda domain: domain.read(pivots))
        _store_order(at, _order(at, table, LU.spec.shape[-2], "lu_unpack"))
    if unpack_data:
        _store_parts(at, 1, lambda domain: domain.read_as(LU, LU.spec.strides))


@lowering("linalg_lu_solve")
def lu_solve(at: At, LU: Value, pivots: Value, B: Value, left: bool, adjoint: bool) -> None:
    check_small(LU, B)
    packed = copied(at, LU, LU.spec.shape[:-2])
    table = filled(at, pivots.spec.shape, d.int32, lambda domain: domain.read(pivots))
    shape = at.result.shape if left else (*at.result.shape[:-2], *at.result.shape[:-3:-1])
    sides = _matrices_of(B, not left, False)
    found = _solved(at, packed, table, shape, sides, adjoint == left)
    store(at, 0, lambda domain: found.read(domain, None if left else found.turned()))


@lowering("_linalg_solve_ex")
def solve_ex(at: At, A: Value, B: Value, left: bool, check_errors: bool) -> None:
    message = "linalg.solve: {place}The solver failed because the input matrix is singular."
    check_small(A)
    own, shape = A.spec.shape, at.result.shape
    vector = len(B.spec.shape) == 1 or (
        len(B.spec.shape) == len(own) - 1 and B.spec.shape == own[:-1]
    )
    if not vector:
        check_small(B)
    packed, pivots, info = _factored(at, A, True, message if check_errors else None)
    if vector:
        shape = (*shape, 1)
    elif not left:
        shape = (*shape[:-2], *shape[:-3:-1])
    sides = _matrices_of(B, not left and not vector, vector)
    found = _solved(at, packed, pivots, shape, sides, not left)

    def term(domain: Domain) -> Expression:
        if vector:
            return domain.terms.load(found.access.over(found.access.strides[:-1]))
        return found.read(domain, None if left else found.turned())

    store(at, 0, term)
    _store_factors(at, 1, packed, pivots, info)


@lowering("linalg_inv_ex")
def inv_ex(at: At, A: Value, check_errors: bool) -> None:
    message = (
        "linalg.inv: {place}The diagonal element {number} is zero, the inversion could not be "
        "completed because the input matrix is singular."
    )
    packed, pivots, info = _factored(at, A, True, message if check_errors else None)
    found = _solved(at, packed, pivots, A.spec.shape, _identity(A.spec.dtype), False)
    store(at, 0, found.read)
    store(at, 1, info.read)


def _heads(at: At, packed: Stack, pivots: Stack) -> tuple[Domain, Expression, Expression]:
    """Loops over diagonals, their elements, and the signs that the swaps give them."""
    domain = at.over((*packed.shape[:-2], packed.rows))
    *batch, row, column = packed.access.strides
    heads = at.terms.load(packed.access.over((*batch, row + column)))
    rank = len(domain.sizes)
    swapped = pivots.read(domain).to(d.int64).ne(domain.place(rank - 1) + 1)
    one = at.terms.constant(1, packed.access.element)
    return domain, heads, swapped.where(-one, one)


@lowering("_linalg_det")
def det(at: At, A: Value) -> None:
    packed, pivots, _ = _factored(at, A, True)
    domain, heads, signs = _heads(at, packed, pivots)
    kept, product = domain.reduce("mul", heads * signs, (len(domain.sizes) - 1,)).kept(False)
    kept.store(product)
    _store_factors(at, 1, packed, pivots)


@lowering("_linalg_slogdet")
def slogdet(at: At, A: Value) -> None:
    at.math_known("log")
    packed, pivots, _ = _factored(at, A, True)
    domain, heads, signs = _heads(at, packed, pivots)
    sizes = heads.unary("abs")
    turns = sizes.eq(0).where(heads, heads / sizes) * signs
    over = (len(domain.sizes) - 1,)
    for index, (combine, term) in enumerate((("mul", turns), ("add", sizes.math("log")))):
        kept, total = domain.reduce(combine, term, over).kept(False)
        kept.store(total, index)
    _store_factors(at, 2, packed, pivots)


def _product(at: At, left: Stack, right: Stack) -> Stack:
    """The products of square matrices, as sums along a loop of their own."""
    *batch, rows, columns = left.shape
    domain = at.over((*batch, rows, columns, columns))
    *outer, row, step = left.access.strides
    one = at.terms.load(left.access.over((*outer, row, 0, step)))
    other = at.terms.load(right.access.over((*outer, 0, step, row)))
    kept, total = domain.reduce("add", one * other, (len(batch) + 2,)).kept(False)
    found = stack(at, left.shape, d.float64)
    kept.write(found.access, total)
    return found


@lowering("linalg_matrix_exp")
def matrix_exp(at: At, self: Value) -> None:
    """A Pade approximant of a fraction of the matrix, squared as often as it was halved."""
    check_small(self)
    at.math_known("log2 exp2")
    shape = self.spec.shape
    rank = len(shape)
    a = filled(at, shape, d.float64, lambda domain: domain.read(self).to(d.float64))
    whole = at.over(shape)
    sums, size = whole.reduce("add", a.read(whole).unary("abs"), (rank - 2,)).kept(True)
    norm = sums.reduce("maximum", size, (rank - 1,))
    domain, found = norm.kept(True)
    often = (found.maximum(WIDEST) / WIDEST).math("log2").unary("ceil")
    steps = stack(at, domain.sizes, d.int64)  # -1: the matrix is not finite
    domain.write(steps.access, (found < math.inf).where(often, -1).to(d.int64))

    def scaled(inner: Domain) -> Expression:
        number = steps.read(inner)
        factor = (-number.to(d.float64)).math("exp2")
        return (number < 0).where(0, a.read(inner) * factor)

    small = filled(at, shape, d.float64, scaled)
    power = filled(at, shape, d.float64, lambda inner: _identity(d.float64)(inner, None))
    square = _product(at, small, small)
    even, odd = PADE[0] * power.read(whole), PADE[1] * power.read(whole)
    for k in range(2, len(PADE) - 1, 2):
        power = _product(at, power, square)
        even = even + PADE[k] * power.read(whole)
        odd = odd + PADE[k + 1] * power.read(whole)
    evens, odds = stack(at, shape, d.float64), stack(at, shape, d.float64)
    for each, summed in ((evens, even), (odds, odd)):
        whole.write(each.access, summed)
    odds = _product(at, small, odds)
    packed = filled(at, shape, d.float64, lambda inner: evens.read(inner) - odds.read(inner))
    batch, count = shape[:-2], packed.count
    pivots, info = stack(at, shape[:-1], d.int32), stack(at, batch, d.int32)
    factor = lu_factor(False, count, shape[-1], shape[-1], True, False)
    call(at, factor, [], [packed, pivots, info])
    sums_of = filled(at, shape, d.float64, lambda inner: evens.read(inner) + odds.read(inner))

    def sides(inner: Domain, rows: Expression | None) -> Expression:
        assert rows is not None
        *outer, row, column = sums_of.access.strides
        return inner.terms.lookup(sums_of.access.over((*outer, 0, column)), rows * row)

    result = _solved(at, packed, pivots, shape, sides, False)
    room = stack(at, shape[-2:], d.float64)
    call(at, repeated_squares(False, count, shape[-1]), [steps], [result, room])

    store(at, 0, lambda inner: (steps.read(inner) < 0).where(math.nan, result.read(inner)))
