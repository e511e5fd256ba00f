"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.gamma import Gamma
from thunk.distributions.transformed_distribution import TransformedDistribution
from thunk.distributions.transforms import PowerTransform
from thunk.ops.registry import t


class InverseGamma(TransformedDistribution):
    """Reciprocals of gamma numbers."""

    arg_constraints: ClassVar[Any] = {
        "concentration": constraints.positive, "rate": constraints.positive,
    }  # fmt: skip
    support: Any = constraints.positive
    has_rsample: Any = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        power = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, power, validate_args=validate_args)

    @property
    def concentration(self) -> Any:
        """The gamma numbers' concentration."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Any:
        """The gamma numbers' rate."""
        return self.base_dist.rate

    @property
    def mean(self) -> Any:
        """The expected value."""
        found = self.rate / (self.concentration - 1)
        return t.where(self.concentration > 1, found, math.inf)

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        less = self.concentration - 1
        found = self.rate.square() / (less.square() * (self.concentration - 2))
        return t.where(self.concentration > 2, found, math.inf)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        concentration = self.concentration
        spread = concentration + self.rate.log() + concentration.lgamma()
        return spread - (1 + concentration) * concentration.digamma()
