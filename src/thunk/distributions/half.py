"""Distances from the middle of a distribution that is alike on both sides."""

from __future__ import annotations

import math
from typing import Any

from thunk.distributions import constraints
from thunk.distributions.transformed_distribution import TransformedDistribution
from thunk.distributions.transforms import AbsTransform
from thunk.ops.registry import t
from thunk.tensor.creation import as_tensor


class HalfDistribution(TransformedDistribution):
    """Absolute values of samples of a distribution around 0."""

    support: Any = constraints.nonnegative
    has_rsample: Any = True

    def __init__(self, base_distribution: Any, validate_args: bool | None = None) -> None:
        super().__init__(base_distribution, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Any:
        """The width of the whole distribution."""
        return self.base_dist.scale

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return t.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        value = as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        both = self.base_dist.log_prob(value) + math.log(2)
        return t.where(value >= 0, both, -math.inf)

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to `value`."""
        self._checked(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        """The value up to which samples lie with probability `value`."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return self.base_dist.entropy() - math.log(2)
