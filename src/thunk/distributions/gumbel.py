"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.transformed_distribution import TransformedDistribution
from thunk.distributions.transforms import AffineTransform, ExpTransform
from thunk.distributions.uniform import Uniform
from thunk.distributions.utils import broadcast_all, euler_constant
from thunk.ops.registry import t
from thunk.types.info import finfo


class Gumbel(TransformedDistribution):
    """The largest of many samples, around `loc` with width `scale`."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    _parameters: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        base = Uniform(
            t.full_like(self.loc, limits.tiny), t.full_like(self.loc, 1 - limits.eps),
            validate_args=validate_args,
        )  # fmt: skip
        transforms = [
            ExpTransform().inv,
            AffineTransform(0, -t.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        way = (self.loc - value) / self.scale
        return way - way.exp() - self.scale.log()

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self.loc

    @property
    def stddev(self) -> Any:
        """The root of the variance."""
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return self.stddev.pow(2)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return self.scale.log() + (1 + euler_constant)
