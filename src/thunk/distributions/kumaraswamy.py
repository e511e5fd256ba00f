"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.transformed_distribution import TransformedDistribution
from thunk.distributions.transforms import AffineTransform, PowerTransform
from thunk.distributions.uniform import Uniform
from thunk.distributions.utils import broadcast_all, euler_constant
from thunk.ops.registry import t


def _moment(a: Any, b: Any, order: int) -> Any:
    more = 1 + order / a
    return b * t.exp(t.lgamma(more) + t.lgamma(b) - t.lgamma(more + b))


class Kumaraswamy(TransformedDistribution):
    """Numbers in [0, 1] much like beta numbers, but with a simple distribution function."""

    arg_constraints: ClassVar[Any] = {
        "concentration1": constraints.positive, "concentration0": constraints.positive,
    }  # fmt: skip
    support: Any = constraints.unit_interval
    has_rsample: Any = True
    _parameters: ClassVar[dict[str, int]] = {"concentration1": 0, "concentration0": 0}

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        both = broadcast_all(concentration1, concentration0)
        self.concentration1, self.concentration0 = both
        base = Uniform(t.zeros_like(both[1]), t.ones_like(both[1]), validate_args=validate_args)
        transforms = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Any:
        """The most probable value; NaN where the density is highest at an end."""
        a, b = self.concentration1, self.concentration0
        found = (b.reciprocal() * (-b).log1p() - (-b * a).log1p()).exp()
        return t.where((b < 1) | (a < 1), math.nan, found)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return _moment(self.concentration1, self.concentration0, 2) - self.mean.pow(2)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        a, b = self.concentration1, self.concentration0
        harmonic = t.digamma(b + 1) + euler_constant
        first = 1 - b.reciprocal() + (1 - a.reciprocal()) * harmonic
        return first - t.log(a) - t.log(b)
