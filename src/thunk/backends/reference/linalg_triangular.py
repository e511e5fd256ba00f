"""NumPy rules of Cholesky factorizations and of triangular systems.

Enters: arrays of matrices, of which one triangle is read. Leaves: fresh factors and solutions.
Invariant: a batch with matrices that are not positive-definite still factors the others.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.linalg_arrays import adjoint, raise_first, stacked, substitute


@rule("linalg_cholesky_ex")
def linalg_cholesky_ex(specs: Any, self: Any, upper: bool, check_errors: bool) -> Any:
    try:
        factors = numpy.linalg.cholesky(self, upper=upper)
        info = numpy.zeros(self.shape[:-2], numpy.int32)
        if numpy.isnan(self).any():
            factors, info = _one_column_at_a_time(self, upper)
    except numpy.linalg.LinAlgError:
        factors, info = _one_column_at_a_time(self, upper)
    if check_errors:
        raise_first(
            info,
            "linalg.cholesky: {place}The factorization could not be completed because the input "
            "is not positive-definite (the leading minor of order {number} is not "
            "positive-definite).",
        )
    return factors, info


def _one_column_at_a_time(matrices: Any, upper: bool) -> tuple[Any, Any]:
    """Factors, and the first leading minors that are not positive (0: none)."""
    a = stacked(adjoint(matrices) if upper else matrices)
    info = numpy.zeros(len(a), numpy.int32)
    for column in range(a.shape[-1]):
        done = a[:, column:, :column]
        rest = a[:, column:, column] - (done @ numpy.conj(done[:, 0, :, None]))[..., 0]
        head = rest[:, 0].real
        failed = ~(head > 0)
        info[failed & (info == 0)] = column + 1
        root = numpy.sqrt(numpy.where(info > 0, 1, head))
        a[:, column:, column] = numpy.where(
            info[:, None] > 0, a[:, column:, column], rest / root[:, None]
        )
    factors = numpy.tril(a).reshape(matrices.shape)
    return adjoint(factors) if upper else factors, info.reshape(matrices.shape[:-2])


@rule("cholesky_solve")
def cholesky_solve(spec: Any, self: Any, input2: Any, upper: bool) -> Any:
    return _solve(input2, self, upper)


@rule("cholesky_inverse")
def cholesky_inverse(spec: Any, self: Any, upper: bool) -> Any:
    zero = numpy.diagonal(self, axis1=-2, axis2=-1) == 0
    info = numpy.where(zero.any(-1), zero.argmax(-1) + 1, 0) if zero.size else numpy.zeros(0)
    raise_first(
        info,
        "cholesky_inverse: {place}The diagonal element {number} is zero, the inversion could not "
        "be completed because the input matrix is singular.",
    )
    return _solve(self, numpy.eye(self.shape[-1], dtype=self.dtype), upper)


def _solve(factors: Any, right: Any, upper: bool) -> Any:
    if upper:
        return substitute(factors, substitute(adjoint(factors), right, upper=False), upper=True)
    return substitute(adjoint(factors), substitute(factors, right, upper=False), upper=True)


@rule("linalg_solve_triangular")
def linalg_solve_triangular(
    spec: Any, self: Any, B: Any, upper: bool, left: bool, unitriangular: bool
) -> Any:
    if left:
        return substitute(self, B, upper=upper, unit=unitriangular)
    turned, right = numpy.swapaxes(self, -1, -2), numpy.swapaxes(B, -1, -2)
    found = substitute(turned, right, upper=not upper, unit=unitriangular)
    return numpy.swapaxes(found, -1, -2)


@rule("triangular_solve")
def triangular_solve(
    specs: Any, self: Any, A: Any, upper: bool, transpose: bool, unitriangular: bool
) -> Any:
    used = numpy.swapaxes(A, -1, -2) if transpose else A
    solution = substitute(used, self, upper=upper != transpose, unit=unitriangular)
    return solution, numpy.broadcast_to(A, specs[1].shape)
