"""The exponential distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.exp_family import ExponentialFamily
from thunk.distributions.utils import broadcast_all
from thunk.ops.registry import t


class Exponential(ExponentialFamily):
    """Waiting times for an event at `rate`."""

    arg_constraints: ClassVar[Any] = {"rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters: ClassVar[dict[str, int]] = {"rate": 0}

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return t.zeros_like(self.rate)

    @property
    def stddev(self) -> Any:
        """The root of the variance."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        shape = self._extended_shape(sample_shape)
        return self.rate.new_empty(shape).exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to `value`."""
        self._checked(value)
        return 1 - t.exp(-self.rate * value)

    def icdf(self, value: Any) -> Any:
        """The value up to which samples lie with probability `value`."""
        return -t.log1p(-value) / self.rate

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return 1.0 - t.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (-self.rate,)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        return -t.log(-natural_params[0])
