"""Divergences of normal distributions of vectors, however their covariance is held."""

from __future__ import annotations

from typing import Any

from thunk.distributions.kl.registry import register_kl
from thunk.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from thunk.distributions.multivariate_normal import (
    MultivariateNormal,
    _batch_mahalanobis,
    half_log_det,
)
from thunk.ops.registry import t


def _squares(matrix: Any) -> Any:
    """The trace of a matrix times its transpose."""
    return matrix.pow(2).sum([-2, -1])


def _solve(factor: Any, matrix: Any) -> Any:
    return t.linalg_solve_triangular(factor, matrix, upper=False)


class _Full:
    """A covariance by its Cholesky factor."""

    def __init__(self, distribution: Any) -> None:
        self.factor = distribution._unbroadcasted_scale_tril

    def log_det(self) -> Any:
        return 2 * half_log_det(self.factor)

    def roots(self) -> list[Any]:
        """Matrices whose products with their transposes add up to the covariance."""
        return [self.factor]

    def trace_of_quotient(self, roots: list[Any]) -> Any:
        """The trace of another covariance over this one."""
        return sum(_squares(_solve(self.factor, each)) for each in roots)

    def distance(self, way: Any) -> Any:
        return _batch_mahalanobis(self.factor, way)


class _LowRank:
    """A covariance by a low-rank factor and a diagonal."""

    def __init__(self, distribution: Any) -> None:
        self.parts = distribution._parts()
        self.capacitance = distribution._capacitance_tril

    def log_det(self) -> Any:
        factor, diagonal = self.parts
        return _batch_lowrank_logdet(factor, diagonal, self.capacitance)

    def roots(self) -> list[Any]:
        """Matrices whose products with their transposes add up to the covariance."""
        factor, diagonal = self.parts
        return [factor, t.diag_embed(diagonal.sqrt())]

    def trace_of_quotient(self, roots: list[Any]) -> Any:
        """The trace of another covariance over this one."""
        factor, diagonal = self.parts
        inner = _solve(self.capacitance, factor.mT / diagonal.unsqueeze(-2))
        scale = diagonal.rsqrt().unsqueeze(-1)
        return sum(_squares(each * scale) - _squares(inner @ each) for each in roots)

    def distance(self, way: Any) -> Any:
        factor, diagonal = self.parts
        return _batch_lowrank_mahalanobis(factor, diagonal, way, self.capacitance)


def _covariance(distribution: Any) -> Any:
    kind = _Full if isinstance(distribution, MultivariateNormal) else _LowRank
    return kind(distribution)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _normals(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two (Low Rank) Multivariate Normals with different event "
            f"shapes cannot be computed: {p.event_shape} and {q.event_shape}"
        )
    ours, theirs = _covariance(p), _covariance(q)
    trace = theirs.trace_of_quotient(ours.roots())
    distance = theirs.distance(q.loc - p.loc)
    log_dets = theirs.log_det() - ours.log_det()
    return 0.5 * (log_dets + trace + distance - p.event_shape[0])
