"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.chi2 import Chi2
from thunk.distributions.distribution import Distribution
from thunk.distributions.utils import _standard_normal, broadcast_all
from thunk.ops.registry import t


class StudentT(Distribution):
    """Normal numbers whose width is estimated from `df` others."""

    arg_constraints: ClassVar[Any] = {
        "df": constraints.positive, "loc": constraints.real, "scale": constraints.positive,
    }  # fmt: skip
    support: Any = constraints.real
    has_rsample = True
    _parameters: ClassVar[dict[str, int]] = {"df": 0, "loc": 0, "scale": 0}
    _inner = ("_chi2",)

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The expected value, NaN where it does not exist."""
        return t.where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean; infinite or NaN for small `df`."""
        finite = self.df > 2
        df = t.where(finite, self.df, 3.0)
        found = t.where(finite, self.scale.pow(2) * df / (df - 2), math.inf)
        return t.where(self.df <= 1, math.nan, found)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, self.df.dtype, self.df.device)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (noise * t.rsqrt(squares / self.df))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        distance = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + t.lgamma(0.5 * self.df)
            - t.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * t.log1p(distance**2.0 / self.df) - normalizer

    def entropy(self) -> Any:
        """The expected information of a sample."""
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = t.lgamma(half) + math.lgamma(0.5) - t.lgamma(more)
        slopes = more * (t.digamma(more) - t.digamma(half))
        return self.scale.log() + slopes + 0.5 * self.df.log() + beta
