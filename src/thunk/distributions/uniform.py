"""The uniform distribution of an interval."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.utils import broadcast_all
from thunk.ops.registry import t


class Uniform(Distribution):
    """All numbers from `low` to below `high` alike."""

    has_rsample = True
    _parameters: ClassVar[dict[str, int]] = {"low": 0, "high": 0}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self) -> Any:
        """The bounds are in order."""
        low, high = constraints.less_than(self.high), constraints.greater_than(self.low)
        return {"low": low, "high": high}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Where samples lie."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        """No value is more probable than another: NaN."""
        return self.high * math.nan

    @property
    def stddev(self) -> Any:
        """The root of the variance."""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        shape = self._extended_shape(sample_shape)
        share = t.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + share * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return t.log(inside) - t.log(self.high - self.low)

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to `value`."""
        self._checked(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        """The value up to which samples lie with probability `value`."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return t.log(self.high - self.low)
