"""The distribution of Lewandowski, Kurowicka and Joe over correlation matrices' factors."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.beta import Beta
from thunk.distributions.distribution import Distribution
from thunk.distributions.utils import broadcast_all
from thunk.ops.registry import t
from thunk.types.info import finfo
from thunk.types.size import Size


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices, nearer to the unit matrix the higher
    `concentration` is."""

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support: Any = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"LKJCholesky: Expected dim to be an integer greater than or equal to 2, got {dim}"
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        own = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        # Row k lies in a ball of k dimensions; the square of its length is a beta number.
        row = t.cat([t.zeros((1,), **own), t.arange(dim - 1, **own)])
        last = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1)
        self._beta = Beta(row + 0.5, last - 0.5 * row)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions as a batch of another shape; nothing is copied."""
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch = Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch)
        new._beta = self._beta.expand((*batch, self.dim))
        return self._finish_expand(new, batch)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients, row by row (the onion method)."""
        squares = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        ways = t.randn(shape, dtype=squares.dtype, device=squares.device).tril(-1)
        ways = ways / t.linalg_vector_norm(ways, dim=[-1], keepdim=True)
        ways[..., 0, :] = 0.0
        rows = t.sqrt(squares) * ways
        rest = t.clamp(1 - (rows**2).sum(-1), min=finfo(rows.dtype).tiny).sqrt()
        return rows + t.diag_embed(rest)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        rows = t.arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        less = self.dim - 1
        last = self.concentration + 0.5 * less
        normalizer = 0.5 * less * math.log(math.pi) + t.mvlgamma(last - 0.5, less)
        return (powers * diagonal.log()).sum(-1) - normalizer + t.lgamma(last) * less
