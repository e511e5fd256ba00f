"""Constraints on whole vectors and matrices."""

from __future__ import annotations

from typing import Any

from thunk.distributions.constraints.base import Constraint
from thunk.ops.registry import t
from thunk.types.dtype import bool_
from thunk.types.info import finfo


class _OneHot(Constraint):
    """Vectors of one 1 and zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        zeros_and_ones = (value == 0) | (value == 1)
        return zeros_and_ones.all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Vectors of numbers that are not negative and add up to 1."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts that add up to a bound at most."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


def _everywhere(truth: Any) -> Any:
    """Whether all elements of a matrix are true."""
    return truth.flatten(-2).all(-1)


class _LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        return _everywhere(value.tril() == value)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Any) -> Any:
        triangular = super().check(value)
        return triangular & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlation matrices: rows of length 1."""

    def check(self, value: Any) -> Any:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        lengths = t.linalg_vector_norm(value.detach(), dim=[-1])
        return super().check(value) & ((lengths - 1.0).abs() <= tolerance).all(-1)


class _Square(Constraint):
    """Matrices with as many rows as columns."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        square = value.shape[-2] == value.shape[-1]
        return t.full(value.shape[:-2], square, dtype=bool_, device=value.device)


class _Symmetric(_Square):
    """Matrices equal to their transpose, up to rounding."""

    def check(self, value: Any) -> Any:
        square = super().check(value)
        if not square.all():
            return square
        return _everywhere(t.isclose(value, value.mT, atol=1e-6))


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return t.linalg_eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return t.linalg_cholesky_ex(value)[1].eq(0)
