"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.half import HalfDistribution
from thunk.distributions.normal import Normal


class HalfNormal(HalfDistribution):
    """Absolute values of normal numbers around 0."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return self.scale.pow(2) * (1 - 2 / math.pi)
