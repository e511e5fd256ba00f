"""The Fisher-Snedecor distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.gamma import Gamma
from thunk.distributions.utils import broadcast_all
from thunk.ops.registry import t
from thunk.types.info import finfo


class FisherSnedecor(Distribution):
    """Quotients of two mean squares of normal numbers."""

    arg_constraints: ClassVar[Any] = {"df1": constraints.positive, "df2": constraints.positive}
    support: Any = constraints.positive
    has_rsample = True
    _parameters: ClassVar[dict[str, int]] = {"df1": 0, "df2": 0}
    _inner = ("_gamma1", "_gamma2")

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The expected value, NaN where it does not exist."""
        return t.where(self.df2 <= 2, math.nan, self.df2 / (self.df2 - 2))

    @property
    def mode(self) -> Any:
        """The most probable value, NaN where that is 0."""
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return t.where(self.df1 <= 2, math.nan, found)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean, NaN where it does not exist."""
        df1, df2 = self.df1, self.df2
        found = 2 * df2.pow(2) * (df1 + df2 - 2) / (df1 * (df2 - 2).pow(2) * (df2 - 4))
        return t.where(df2 <= 4, math.nan, found)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        tiny = finfo(self.df1.dtype).tiny
        above = self._gamma1.rsample(sample_shape)
        below = self._gamma2.rsample(sample_shape).clamp(min=tiny)
        return (above / below).clamp(min=tiny)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        powers = half1 * ratio.log() + (half1 - 1) * t.log(value)
        return normalizer + powers - (half1 + half2) * t.log1p(ratio * value)
