"""The generalised Pareto distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.utils import broadcast_all
from thunk.ops.registry import t


class GeneralizedPareto(Distribution):
    """What exceeds a high threshold `loc`, with tails from bounded to heavy."""

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real,
    }  # fmt: skip
    has_rsample = True
    _parameters: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Where samples lie: up to a bound, where the concentration is negative."""
        bound = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, t.where(self.concentration < 0, bound, math.inf))

    def _bend(self) -> tuple[Any, Any]:
        """Where the distribution is exponential, and concentrations with 1 in its place."""
        straight = t.isclose(self.concentration, t.zeros_like(self.concentration))
        return straight, t.where(straight, 1.0, self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(t.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        way = (value - self.loc) / self.scale
        straight, bend = self._bend()
        power = 1 / bend + 1
        bent = t.where(power == 0, power, power * t.log1p(bend * way))
        return -self.scale.log() - t.where(straight, way, bent)

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of samples above `value`."""
        self._checked(value)
        way = (value - self.loc) / self.scale
        straight, bend = self._bend()
        return t.where(straight, -way, -t.log1p(bend * way) / bend)

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of the probability of samples up to `value`."""
        return t.log1p(-t.exp(self.log_survival_function(value)))

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to `value`."""
        return t.exp(self.log_cdf(value))

    def icdf(self, value: Any) -> Any:
        """The value up to which samples lie with probability `value`."""
        straight, bend = self._bend()
        left = t.log1p(-value)
        bent = self.loc + self.scale / bend * t.expm1(-bend * left)
        return t.where(straight, self.loc - self.scale * left, bent)

    @property
    def mean(self) -> Any:
        """The expected value, NaN where it does not exist."""
        exists = self.concentration < 1
        bend = t.where(exists, self.concentration, 0.5)
        return t.where(exists, self.loc + self.scale / (1 - bend), math.nan)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean, NaN where it does not exist."""
        exists = self.concentration < 0.5
        bend = t.where(exists, self.concentration, 0.25)
        found = self.scale**2 / ((1 - bend) ** 2 * (1 - 2 * bend))
        return t.where(exists, found, math.nan)

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self.loc

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return t.log(self.scale) + self.concentration + 1
