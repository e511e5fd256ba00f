"""Cholesky factors, triangular systems, QR factors and reflections of small matrices."""

from __future__ import annotations

from typing import Any

from thunk.backends.cpu.llvm.matrices import cholesky_factor, substitute
from thunk.backends.cpu.llvm.reflections import qr_factor, reflect
from thunk.backends.cpu.lowering.matrices import (
    Stack,
    call,
    check_small,
    copied,
    filled,
    matrices,
    singular,
    stack,
    store,
)
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d


def _places(domain: Domain) -> tuple[Expression, Expression]:
    """The row and the column in loops whose last two they are."""
    rank = len(domain.sizes)
    return domain.place(rank - 2), domain.place(rank - 1)


@lowering("linalg_cholesky_ex")
def cholesky_ex(at: At, self: Value, upper: bool, check_errors: bool) -> None:
    check_small(self)
    message = (
        "linalg.cholesky: {place}The factorization could not be completed because the input "
        "is not positive-definite (the leading minor of order {number} is not "
        "positive-definite)."
    )
    batch = self.spec.shape[:-2]
    found, info = copied(at, self, batch, turned=upper), stack(at, batch, d.int32)
    function = cholesky_factor(found.is_single, found.count, found.rows, check_errors)
    failure = singular(message, bool(batch)) if check_errors else None
    call(at, function, [], [found, info], failure)

    def factor(domain: Domain) -> Expression:
        row, column = _places(domain)
        inside = row <= column if upper else column <= row
        return inside.where(found.read(domain, found.turned() if upper else None), 0)

    store(at, 0, factor)
    store(at, 1, info.read)


def _substituted(at: At, a: Stack, x: Stack, upper: bool, unit: bool = False) -> None:
    function = substitute(x.is_single, x.count, x.rows, x.columns, upper, unit)
    call(at, function, [a], [x])


@lowering("cholesky_solve")
def cholesky_solve(at: At, self: Value, input2: Value, upper: bool) -> None:
    check_small(self, input2)
    batch = at.result.shape[:-2]
    lower, turned = (copied(at, input2, batch, each) for each in (upper, not upper))
    found = copied(at, self, batch)
    _substituted(at, lower, found, upper=False)
    _substituted(at, turned, found, upper=True)
    store(at, 0, found.read)


@lowering("cholesky_inverse")
def cholesky_inverse(at: At, self: Value, upper: bool) -> None:
    check_small(self)
    message = (
        "cholesky_inverse: {place}The diagonal element {number} is zero, the inversion could not "
        "be completed because the input matrix is singular."
    )
    batch = self.spec.shape[:-2]
    lower, turned = (copied(at, self, batch, each) for each in (upper, not upper))
    found = _identity(at, self.spec.shape, self.spec.dtype)
    single, count, size = found.is_single, found.count, found.rows
    function = substitute(single, count, size, size, False, False, True)
    call(at, function, [lower], [found], singular(message, bool(batch)))
    _substituted(at, turned, found, upper=True)
    store(at, 0, found.read)


@lowering("linalg_solve_triangular")
def solve_triangular(
    at: At, self: Value, B: Value, upper: bool, left: bool, unitriangular: bool
) -> None:
    check_small(self, B)
    batch = at.result.shape[:-2]
    a, found = copied(at, self, batch, not left), copied(at, B, batch, not left)
    _substituted(at, a, found, upper == left, unitriangular)
    store(at, 0, lambda domain: found.read(domain, None if left else found.turned()))


@lowering("triangular_solve")
def triangular_solve(
    at: At, self: Value, A: Value, upper: bool, transpose: bool, unitriangular: bool
) -> None:
    check_small(self, A)
    batch = at.result.shape[:-2]
    a, found = copied(at, A, batch, transpose), copied(at, self, batch)
    _substituted(at, a, found, upper != transpose, unitriangular)
    store(at, 0, found.read)
    store(at, 1, lambda domain: matrices(domain, A))


def _packed(at: At, a: Value) -> tuple[Stack, Stack]:
    """Reflections with R above them, and their taus."""
    check_small(a)
    batch = a.spec.shape[:-2]
    packed = copied(at, a, batch)
    taus = stack(at, (*batch, min(packed.rows, packed.columns)), a.spec.dtype)
    row = stack(at, (packed.columns,), a.spec.dtype)
    function = qr_factor(packed.is_single, packed.count, packed.rows, packed.columns)
    call(at, function, [], [packed, taus, row])
    return packed, taus


def _reflected(at: At, packed: Stack, taus: Stack, value: Stack, forward: bool) -> None:
    """Apply all reflections to `value`; forward is the adjoint of their product."""
    row = stack(at, (value.columns,), value.access.element)
    steps = taus.shape[-1]
    function = reflect(
        value.is_single, value.count, packed.rows, packed.columns, steps, value.columns, forward
    )
    call(at, function, [packed, taus], [value, row])


def _identity(at: At, shape: tuple[int, ...], element: Any) -> Stack:
    return filled(
        at, shape, element, lambda domain: _places(domain)[0].eq(_places(domain)[1]).to(element)
    )


@lowering("geqrf")
def geqrf(at: At, self: Value) -> None:
    for index, each in enumerate(_packed(at, self)):
        store(at, index, each.read)


@lowering("linalg_qr")
def qr(at: At, A: Value, mode: str) -> None:
    packed, taus = _packed(at, A)
    if mode != "r":
        found = _identity(at, at.result.shape, A.spec.dtype)
        _reflected(at, packed, taus, found, forward=False)
        store(at, 0, found.read)

    def triangle(domain: Domain) -> Expression:
        row, column = _places(domain)
        return (column >= row).where(at.terms.load(packed.access), 0)

    store(at, 1, triangle)


def _dense(at: At, value: Value) -> Stack:
    return filled(at, value.spec.shape, value.spec.dtype, lambda domain: domain.read(value))


@lowering("linalg_householder_product")
def householder_product(at: At, input: Value, tau: Value) -> None:
    check_small(input)
    found = _identity(at, input.spec.shape, input.spec.dtype)
    if tau.spec.numel:
        packed = copied(at, input, input.spec.shape[:-2])
        _reflected(at, packed, _dense(at, tau), found, forward=False)
    store(at, 0, found.read)


@lowering("ormqr")
def ormqr(
    at: At, self: Value, tau: Value, other: Value, left: bool, transpose: bool
) -> None:
    """From the right it is the transpose of a product from the left."""
    check_small(self, other)
    batch = other.spec.shape[:-2]
    found = copied(at, other, batch, not left)
    if tau.spec.numel:
        packed = copied(at, self, batch)
        _reflected(at, packed, _dense(at, tau), found, forward=transpose == left)
    store(at, 0, lambda domain: found.read(domain, None if left else found.turned()))
