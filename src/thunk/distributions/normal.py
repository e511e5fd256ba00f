"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.autograd.modes import no_grad
from thunk.distributions import constraints
from thunk.distributions.exp_family import ExponentialFamily
from thunk.distributions.utils import _standard_normal, broadcast_all
from thunk.ops.registry import t


class Normal(ExponentialFamily):
    """Bell curves around `loc` of width `scale`."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
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
        return self.scale

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return self.scale.pow(2)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return t.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        distance = -((value - self.loc) ** 2) / (2 * self.scale**2)
        return distance - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to `value`."""
        self._checked(value)
        return 0.5 * (1 + t.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Any) -> Any:
        """The value up to which samples lie with probability `value`."""
        return self.loc + self.scale * t.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + t.log(self.scale)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, *natural_params: Any) -> Any:
        x, y = natural_params
        return -0.25 * x.pow(2) / y + 0.5 * t.log(-math.pi / y)
