"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.utils import broadcast_all
from thunk.ops.registry import t


class Cauchy(Distribution):
    """The quotient of two normal numbers, around `loc` with half its samples within `scale`."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample = True
    _parameters: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _all(self, value: float) -> Any:
        return t.full(self._batch_shape, value, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mean(self) -> Any:
        """Does not exist: NaN."""
        return self._all(math.nan)

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self.loc

    @property
    def variance(self) -> Any:
        """Infinite."""
        return self._all(math.inf)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        noise = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        distance = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (distance**2).log1p()

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to `value`."""
        self._checked(value)
        return t.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        """The value up to which samples lie with probability `value`."""
        return t.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return math.log(4 * math.pi) + self.scale.log()
