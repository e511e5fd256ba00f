"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.cauchy import Cauchy
from thunk.distributions.half import HalfDistribution


class HalfCauchy(HalfDistribution):
    """Absolute values of Cauchy numbers around 0."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """Infinite."""
        return self.scale.new_full(self._batch_shape, math.inf)

    @property
    def variance(self) -> Any:
        """Infinite."""
        return self.base_dist.variance
