"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.utils import _standard_normal, lazy_property
from thunk.ops.registry import t
from thunk.tensor.queries import broadcast_shapes
from thunk.types.size import Size

_FORMS = ("covariance_matrix", "precision_matrix", "scale_tril")


def _batch_mv(matrix: Any, vector: Any) -> Any:
    """Products of matrices and vectors."""
    return t.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Any, vector: Any) -> Any:
    """Squared lengths of vectors in units of a Cholesky factor, which may have fewer batches."""
    dims = factor.dim() - 2
    outer = vector.shape[: vector.dim() - 1 - dims]
    batch, size = vector.shape[vector.dim() - 1 - dims : -1], vector.shape[-1]
    # Every factor solves for all vectors it serves at once: they become columns.
    own = factor.shape[:-2]
    split = [part for many, few in zip(batch, own, strict=True) for part in (many // few, few)]
    vector = vector.reshape((*outer, *split, size))
    first = len(outer)
    repeats = [first + 2 * at for at in range(dims)]
    serving = [first + 2 * at + 1 for at in range(dims)]
    columns = vector.permute([*serving, vector.dim() - 1, *range(first), *repeats])
    kept = columns.shape[dims + 1 :]
    flat = columns.reshape((*own, size, -1))
    solved = t.linalg_solve_triangular(factor, flat, upper=False).pow(2).sum(-2)
    back = solved.reshape((*own, *kept))
    order = [dims + at for at in range(first)]
    for at in range(dims):
        order += [dims + first + at, at]
    return back.permute(order).reshape((*outer, *batch))


def _precision_to_scale_tril(precision: Any) -> Any:
    """The Cholesky factor of the inverse, from that of the matrix turned upside down."""
    turned = t.linalg_cholesky(t.flip(precision, [-2, -1]))
    inverse = t.flip(turned, [-2, -1]).transpose(-2, -1)
    unit = t.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return t.linalg_solve_triangular(inverse, unit, upper=False)


def half_log_det(factor: Any) -> Any:
    """Half the logarithm of the determinant, from the Cholesky factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(Distribution):
    """Vectors around `loc` with a covariance, given by itself, its inverse or its factor."""

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support: Any = constraints.real_vector
    has_rsample = True
    _parameters: ClassVar[dict[str, int]] = {"loc": 1, **dict.fromkeys(_FORMS, 2)}
    _kept = ("_unbroadcasted_scale_tril",)

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("MultivariateNormal: loc must be at least one-dimensional")
        forms = zip(_FORMS, (covariance_matrix, precision_matrix, scale_tril), strict=True)
        given = [(name, form) for name, form in forms if form is not None]
        if len(given) != 1:
            raise ValueError(
                "MultivariateNormal: Exactly one of covariance_matrix or precision_matrix or "
                f"scale_tril may be specified, got {len(given)}"
            )
        ((name, form),) = given
        if form.dim() < 2:
            raise ValueError(
                f"MultivariateNormal: {name} must be at least two-dimensional, with optional "
                "leading batch dimensions"
            )
        batch = Size(broadcast_shapes(form.shape[:-2], loc.shape[:-1]))
        setattr(self, name, form.expand((*batch, -1, -1)))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = t.linalg_cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)

    def _matrix(self, value: Any) -> Any:
        return value.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The covariance's Cholesky factor."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._matrix(t.matmul(factor, factor.mT))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The covariance's inverse."""
        return self._matrix(t.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The expected squares of the distances from the mean."""
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        factor = self._unbroadcasted_scale_tril
        distance = _batch_mahalanobis(factor, value - self.loc)
        constant = self._event_shape.numel() * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - half_log_det(factor)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        constant = 0.5 * self._event_shape.numel() * (1.0 + math.log(2 * math.pi))
        found = constant + half_log_det(self._unbroadcasted_scale_tril)
        return found.expand(self._batch_shape)
