"""The Poisson distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.autograd.modes import no_grad
from thunk.distributions import constraints
from thunk.distributions.exp_family import ExponentialFamily
from thunk.distributions.utils import broadcast_all
from thunk.ops.registry import t


class Poisson(ExponentialFamily):
    """Numbers of events at `rate`."""

    arg_constraints: ClassVar[Any] = {"rate": constraints.nonnegative}
    support: Any = constraints.nonnegative_integer
    _parameters: ClassVar[dict[str, int]] = {"rate": 0}

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.rate

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self.rate.floor()

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        with no_grad():
            return t.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of `value`."""
        self._checked(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (t.log(self.rate),)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        return t.exp(natural_params[0])
