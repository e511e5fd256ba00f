"""The Laplace distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.utils import broadcast_all
from thunk.ops.registry import t
from thunk.types.info import finfo


class Laplace(Distribution):
    """Exponential distances of mean `scale` on both sides of `loc`."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample = True
    _parameters: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self.loc

    @property
    def stddev(self) -> Any:
        """The root of the variance."""
        return 2**0.5 * self.scale

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        shape = self._extended_shape(sample_shape)
        place = self.loc.new_empty(shape).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * place.sign() * t.log1p(-place.abs())

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        return -t.log(2 * self.scale) - t.abs(value - self.loc) / self.scale

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to `value`."""
        self._checked(value)
        way = value - self.loc
        return 0.5 - 0.5 * way.sign() * t.expm1(-way.abs() / self.scale)

    def icdf(self, value: Any) -> Any:
        """The value up to which samples lie with probability `value`."""
        way = value - 0.5
        return self.loc - self.scale * way.sign() * t.log1p(-2 * way.abs())

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return 1 + t.log(2 * self.scale)
