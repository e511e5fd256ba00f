"""The normal distribution of vectors whose covariance is of low rank plus a diagonal."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv, half_log_det
from thunk.distributions.utils import _standard_normal, lazy_property
from thunk.ops.registry import t


def _plus_unit(matrix: Any) -> Any:
    """`matrix` with 1 added on the diagonal."""
    return matrix + t.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def _batch_capacitance_tril(factor: Any, diagonal: Any) -> Any:
    """The Cholesky factor of `I + W^T D^-1 W`, which stands for the whole covariance."""
    return t.linalg_cholesky(_plus_unit((factor.mT / diagonal.unsqueeze(-2)) @ factor))


def _batch_lowrank_logdet(factor: Any, diagonal: Any, capacitance_tril: Any) -> Any:
    """The logarithm of the determinant of `W W^T + D`."""
    return 2 * half_log_det(capacitance_tril) + diagonal.log().sum(-1)


def _batch_lowrank_mahalanobis(
    factor: Any, diagonal: Any, vector: Any, capacitance_tril: Any
) -> Any:
    """Squared lengths of vectors in units of `W W^T + D`."""
    inner = _batch_mv(factor.mT / diagonal.unsqueeze(-2), vector)
    return (vector.pow(2) / diagonal).sum(-1) - _batch_mahalanobis(capacitance_tril, inner)


class LowRankMultivariateNormal(Distribution):
    """Vectors around `loc` with the covariance `cov_factor cov_factor^T + diag(cov_diag)`."""

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support: Any = constraints.real_vector
    has_rsample = True
    _parameters: ClassVar[dict[str, int]] = {"loc": 1, "cov_factor": 2, "cov_diag": 1}
    _kept = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(
        self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("LowRankMultivariateNormal: loc must be at least one-dimensional")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2 or cov_factor.shape[-2:-1] != event:
            raise ValueError(
                "LowRankMultivariateNormal: cov_factor must be a batch of matrices with shape "
                f"{event[0]} x m, got {tuple(cov_factor.shape)}"
            )
        if cov_diag.shape[-1:] != event:
            raise ValueError(
                "LowRankMultivariateNormal: cov_diag must be a batch of vectors with shape "
                f"{event}, got {tuple(cov_diag.shape)}"
            )
        try:
            columns = t.broadcast_tensors([loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)])
        except RuntimeError as error:
            raise ValueError(
                f"LowRankMultivariateNormal: Incompatible batch shapes: loc {loc.shape}, "
                f"cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = columns[0][..., 0], columns[2][..., 0]
        self.cov_factor = columns[1]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event, validate_args=validate_args)

    def _parts(self) -> tuple[Any, Any]:
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    def _matrix(self, value: Any) -> Any:
        return value.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """The expected squares of the distances from the mean."""
        factor, diagonal = self._parts()
        found = factor.pow(2).sum(-1) + diagonal
        return found.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The covariance's Cholesky factor."""
        factor, diagonal = self._parts()
        root = diagonal.sqrt().unsqueeze(-1)
        scaled = factor / root
        return self._matrix(root * t.linalg_cholesky(_plus_unit(scaled @ scaled.mT)))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor, diagonal = self._parts()
        return self._matrix(factor @ factor.mT + t.diag_embed(diagonal))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The covariance's inverse."""
        factor, diagonal = self._parts()
        scaled = factor.mT / diagonal.unsqueeze(-2)
        solved = t.linalg_solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._matrix(t.diag_embed(diagonal.reciprocal()) - solved.mT @ solved)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        factor, diagonal = self._parts()
        shape = self._extended_shape(sample_shape)
        options = self.loc.dtype, self.loc.device
        rank = self.cov_factor.shape[-1]
        shared = _standard_normal((*tuple(shape)[:-1], rank), *options)
        own = _standard_normal(shape, *options)
        return self.loc + _batch_mv(factor, shared) + diagonal.sqrt() * own

    def _log_det(self) -> Any:
        return _batch_lowrank_logdet(*self._parts(), self._capacitance_tril)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        gap = value - self.loc
        distance = _batch_lowrank_mahalanobis(*self._parts(), gap, self._capacitance_tril)
        constant = self._event_shape.numel() * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_det() + distance)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        constant = self._event_shape.numel() * (1.0 + math.log(2 * math.pi))
        return (0.5 * (constant + self._log_det())).expand(self._batch_shape)
