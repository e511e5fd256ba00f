"""NumPy rules of the LU factorization and of what is computed from it.

Enters: arrays of matrices. Leaves: factors packed as LAPACK packs them, with pivots from one.
Invariant: a zero pivot is noted in `info` and leaves its column as it is; nothing is divided by it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.linalg_arrays import (
    BLOCK,
    adjoint,
    raise_first,
    stacked,
    substitute,
)


def factor(matrices: Any, pivot: bool = True) -> tuple[Any, Any, Any]:
    """Packed factors, pivots and first zero pivots (0: none)."""
    a = stacked(matrices)
    count, rows, columns = a.shape
    size = min(rows, columns)
    pivots = numpy.tile(numpy.arange(1, size + 1, dtype=numpy.int32), (count, 1))
    info = numpy.zeros(count, numpy.int32)
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        for column in range(start, stop):
            _eliminate(a, column, stop, pivots, info, pivot)
        if stop < columns:
            head = a[:, start:stop, start:stop]
            a[:, start:stop, stop:] = substitute(
                head, a[:, start:stop, stop:], upper=False, unit=True
            )
            a[:, stop:, stop:] -= a[:, stop:, start:stop] @ a[:, start:stop, stop:]
    batch = matrices.shape[:-2]
    return a.reshape(matrices.shape), pivots.reshape(*batch, size), info.reshape(batch)


def _eliminate(a: Any, column: int, stop: int, pivots: Any, info: Any, pivot: bool) -> None:
    """One step of elimination, kept inside the columns of its block."""
    if pivot:
        places = column + numpy.argmax(_sizes(a[:, column:, column]), axis=1)
        each = numpy.arange(len(a))
        pivots[:, column] = places + 1
        moved = a[each, places]
        a[each, places] = a[:, column]
        a[:, column] = moved
    head = a[:, column, column]
    zero = head == 0
    info[zero & (info == 0)] = column + 1
    a[:, column + 1 :, column] /= numpy.where(zero, 1, head)[:, None]
    right = slice(column + 1, stop)
    a[:, column + 1 :, right] -= a[:, column + 1 :, column, None] * a[:, column, None, right]


def _sizes(values: Any) -> Any:
    """What LAPACK compares to choose a pivot."""
    if values.dtype.kind == "c":
        return numpy.abs(values.real) + numpy.abs(values.imag)
    return numpy.abs(values)


def order_of(pivots: Any, rows: int) -> Any:
    """Which row of the matrix each row of the factors is, from LAPACK's swaps."""
    batch, size = pivots.shape[:-1], pivots.shape[-1]
    flat = pivots.reshape(math.prod(batch), size)
    order = numpy.tile(numpy.arange(rows), (len(flat), 1))
    each = numpy.arange(len(flat))
    for step in range(size):
        places = flat[:, step] - 1
        moved = order[each, places]
        order[each, places] = order[:, step]
        order[:, step] = moved
    return order.reshape(*batch, rows)


def permutation(pivots: Any, rows: int, element: Any) -> Any:
    """The P of A = PLU."""
    order = order_of(pivots, rows)
    eye = numpy.eye(rows, dtype=element)
    return numpy.swapaxes(eye[order], -1, -2)


def solve(lu: Any, pivots: Any, b: Any, left: bool = True, conjugate: bool = False) -> Any:
    """The solution from packed factors; with `conjugate`, of the adjoint's system."""
    if not left:
        return adjoint(solve(lu, pivots, adjoint(b), True, not conjugate))
    batch = numpy.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    size = lu.shape[-1]
    order = numpy.broadcast_to(order_of(pivots, size), (*batch, size))[..., None]
    b = numpy.broadcast_to(b, (*batch, *b.shape[-2:]))
    if not conjugate:
        ordered = numpy.take_along_axis(b, order, -2)
        return substitute(lu, substitute(lu, ordered, upper=False, unit=True), upper=True)
    turned = adjoint(lu)
    found = substitute(turned, substitute(turned, b, upper=False), upper=True, unit=True)
    result = numpy.empty_like(found)
    numpy.put_along_axis(result, numpy.broadcast_to(order, found.shape), found, -2)
    return result


def _unpacked(lu: Any) -> tuple[Any, Any]:
    size = min(lu.shape[-2:])
    lower = numpy.tril(lu[..., :, :size], -1)
    places = numpy.arange(size)
    lower[..., places, places] = 1
    return lower, numpy.triu(lu[..., :size, :])


@rule("linalg_lu_factor_ex")
def linalg_lu_factor_ex(specs: Any, A: Any, pivot: bool, check_errors: bool) -> Any:
    lu, pivots, info = factor(A, pivot)
    if check_errors:
        raise_first(
            info,
            "linalg.lu_factor: {place}U[{number},{number}] is zero and using it on lu_solve would "
            "result in a division by zero; use linalg.lu or linalg.lu_factor_ex to go on",
        )
    return lu, pivots, info


@rule("linalg_lu")
def linalg_lu(specs: Any, A: Any, pivot: bool) -> Any:
    lu, pivots, _ = factor(A, pivot)
    order = permutation(pivots, A.shape[-2], A.dtype) if pivot else numpy.empty(0, A.dtype)
    return order, *_unpacked(lu)


@rule("lu_unpack")
def lu_unpack(specs: Any, LU: Any, pivots: Any, unpack_data: bool, unpack_pivots: bool) -> Any:
    empty = numpy.empty(0, LU.dtype)
    order = empty
    if unpack_pivots:
        rows = LU.shape[-2]
        if pivots.size and (pivots.min() < 1 or pivots.max() > rows):
            raise RuntimeError(
                "lu_unpack: expected pivots between 1 and the number of rows "
                f"({rows}), got {pivots.min()} to {pivots.max()}; pass those of lu_factor"
            )
        order = permutation(pivots, rows, LU.dtype)
    lower, upper = _unpacked(LU) if unpack_data else (empty, empty)
    return order, lower, upper


@rule("linalg_lu_solve")
def linalg_lu_solve(spec: Any, LU: Any, pivots: Any, B: Any, left: bool, adjoint: bool) -> Any:
    return solve(LU, pivots, B, left, adjoint)


@rule("_linalg_solve_ex")
def linalg_solve_ex(specs: Any, A: Any, B: Any, left: bool, check_errors: bool) -> Any:
    lu, pivots, info = factor(A)
    if check_errors:
        raise_first(
            info,
            "linalg.solve: {place}The solver failed because the input matrix is singular.",
        )
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    right = B[..., None] if vector else B
    result = solve(lu, pivots, right, left)
    return result[..., 0] if vector else result, lu, pivots, info


@rule("linalg_inv_ex")
def linalg_inv_ex(specs: Any, A: Any, check_errors: bool) -> Any:
    lu, pivots, info = factor(A)
    if check_errors:
        raise_first(
            info,
            "linalg.inv: {place}The diagonal element {number} is zero, the inversion could not be "
            "completed because the input matrix is singular.",
        )
    return solve(lu, pivots, numpy.eye(A.shape[-1], dtype=A.dtype)), info


def _diagonals(lu: Any) -> Any:
    return numpy.diagonal(lu, axis1=-2, axis2=-1)


def _signs(pivots: Any, element: Any) -> Any:
    """The sign of the permutation that the swaps make."""
    swaps = (pivots != numpy.arange(1, pivots.shape[-1] + 1)).sum(-1)
    return (1 - 2 * (swaps % 2)).astype(element)


@rule("_linalg_det")
def linalg_det(specs: Any, A: Any) -> Any:
    lu, pivots, _ = factor(A)
    return _diagonals(lu).prod(-1) * _signs(pivots, A.dtype), lu, pivots


@rule("_linalg_slogdet")
def linalg_slogdet(specs: Any, A: Any) -> Any:
    lu, pivots, _ = factor(A)
    heads = _diagonals(lu)
    sizes = numpy.abs(heads)
    turns = numpy.where(sizes == 0, heads, heads / sizes).prod(-1)
    return turns * _signs(pivots, A.dtype), numpy.log(sizes).sum(-1), lu, pivots
