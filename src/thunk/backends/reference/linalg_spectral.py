"""NumPy rules of spectra: eigenvalues, singular values, least squares.

Enters: arrays of matrices. Leaves: what LAPACK finds for each.
Invariant: matrices with NaN or infinities raise before LAPACK sees them.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.linalg_arrays import adjoint, substitute
from thunk.base.errors import LinAlgError


def _expect_finite(array: Any, name: str) -> None:
    if not numpy.isfinite(array).all():
        raise LinAlgError(
            f"{name}: The algorithm failed to converge because the input matrix contained "
            "non-finite values; remove NaN and infinities first"
        )


@rule("_linalg_svd")
def linalg_svd(specs: Any, A: Any, full_matrices: bool, compute_uv: bool, driver: Any) -> Any:
    _expect_finite(A, "linalg.svd")
    empty = numpy.empty(0, A.dtype)
    if not compute_uv:
        return empty, _values(A, specs[1]), empty
    if A.size:
        return tuple(numpy.linalg.svd(A, full_matrices))
    return _identity(specs[0]), numpy.empty(specs[1].shape), _identity(specs[2])


def _values(A: Any, spec: Any) -> Any:
    return numpy.linalg.svd(A, compute_uv=False) if A.size else numpy.empty(spec.shape)


def _identity(spec: Any) -> Any:
    return numpy.broadcast_to(numpy.eye(*spec.shape[-2:]), spec.shape)


@rule("linalg_eig")
def linalg_eig(specs: Any, self: Any) -> Any:
    _expect_finite(self, "linalg.eig")
    return tuple(numpy.linalg.eig(self))


@rule("_linalg_eigvals")
def linalg_eigvals(spec: Any, self: Any) -> Any:
    _expect_finite(self, "linalg.eigvals")
    return numpy.linalg.eigvals(self)


@rule("_linalg_eigh")
def linalg_eigh(specs: Any, A: Any, UPLO: str, compute_v: bool) -> Any:
    _expect_finite(A, "linalg.eigh")
    triangle: Any = UPLO.upper()
    if compute_v:
        return tuple(numpy.linalg.eigh(A, triangle))
    return numpy.linalg.eigvalsh(A, triangle), numpy.empty(0, A.dtype)


@rule("_linalg_lstsq")
def linalg_lstsq(spec: Any, self: Any, b: Any, rcond: Any, driver: Any) -> Any:
    driver = driver or "gelsy"
    vector = self.ndim - 1 == b.ndim and self.shape[:-1] == b.shape
    side = b[..., None] if vector else b
    real = numpy.empty(0, self.dtype).real
    if driver == "gels":
        solution, rank, values = _full_rank(self, side), numpy.empty(0, numpy.int64), real
    else:
        bound = numpy.finfo(self.dtype).eps * max(self.shape[-2:]) if rcond is None else rcond
        solution, rank, values = _least_norm(self, side, bound)
        values = real if driver == "gelsy" else values
    residuals = real
    rows, columns = self.shape[-2:]
    full = driver == "gels" or bool((rank == columns).all())
    if rows > columns and driver != "gelsy" and full:
        rest = side - self @ solution
        residuals = (numpy.abs(rest) ** 2).sum(-2)
    result = solution[..., 0] if vector else solution
    return result, residuals, rank, values


def _full_rank(a: Any, b: Any) -> Any:
    """The solution where A has full rank, by QR of A or of its adjoint."""
    rows, columns = a.shape[-2:]
    if rows >= columns:
        q, r = numpy.linalg.qr(a)
        return substitute(r, adjoint(q) @ b, upper=True)
    q, r = numpy.linalg.qr(adjoint(a))
    return q @ substitute(adjoint(r), b, upper=False)


def _least_norm(a: Any, b: Any, bound: float) -> tuple[Any, Any, Any]:
    """The solution of least norm, the rank, and the singular values."""
    batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    size = min(a.shape[-2:])
    if not a.size:
        shape = (*batch, a.shape[-1], b.shape[-1])
        values = numpy.empty((*batch, size), a.dtype).real
        return numpy.zeros(shape, a.dtype), numpy.zeros(batch, numpy.int64), values
    _expect_finite(a, "linalg.lstsq")
    u, s, vh = numpy.linalg.svd(numpy.broadcast_to(a, (*batch, *a.shape[-2:])), False)
    kept = s > bound * s[..., :1]
    inverted = numpy.where(kept, 1 / s, 0).astype(s.dtype)[..., None]
    return adjoint(vh) @ (inverted * (adjoint(u) @ b)), kept.sum(-1), s
