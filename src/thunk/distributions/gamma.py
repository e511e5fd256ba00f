"""The gamma distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.exp_family import ExponentialFamily
from thunk.distributions.utils import broadcast_all
from thunk.ops.registry import t
from thunk.tensor.creation import as_tensor
from thunk.types.info import finfo


class Gamma(ExponentialFamily):
    """Waiting times for `concentration` events at `rate`."""

    arg_constraints: ClassVar[Any] = {
        "concentration": constraints.positive, "rate": constraints.positive,
    }  # fmt: skip
    support: Any = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters: ClassVar[dict[str, int]] = {"concentration": 0, "rate": 0}

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        shape = self._extended_shape(sample_shape)
        value = t._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # keeps the gradient of what it lifts
        return value

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._checked(value)
        return (
            t.xlogy(self.concentration, self.rate)
            + t.xlogy(self.concentration - 1, value)
            - self.rate * value
            - t.lgamma(self.concentration)
        )

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to `value`."""
        self._checked(value)
        return t.special_gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        concentration = self.concentration
        spread = concentration - t.log(self.rate) + t.lgamma(concentration)
        return spread + (1.0 - concentration) * t.digamma(concentration)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Any) -> Any:
        x, y = natural_params
        return t.lgamma(x + 1) + (x + 1) * t.log(-y.reciprocal())
