"""The Weibull distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.exponential import Exponential
from thunk.distributions.transformed_distribution import TransformedDistribution
from thunk.distributions.transforms import AffineTransform, PowerTransform
from thunk.distributions.utils import broadcast_all, euler_constant
from thunk.ops.registry import t
from thunk.types.size import Size


class Weibull(TransformedDistribution):
    """Times to failure at a rate that is a power of time."""

    arg_constraints: ClassVar[Any] = {
        "scale": constraints.positive, "concentration": constraints.positive,
    }  # fmt: skip
    support: Any = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._take(*broadcast_all(scale, concentration))
        base = Exponential(t.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._make_transforms(), validate_args=validate_args)

    def _take(self, scale: Any, concentration: Any) -> None:
        self.scale, self.concentration = scale, concentration
        self.concentration_reciprocal = concentration.reciprocal()

    def _make_transforms(self) -> list[Any]:
        power = PowerTransform(self.concentration_reciprocal)
        return [power, AffineTransform(0, self.scale)]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions as a batch of another shape; nothing is copied."""
        new = self._get_checked_instance(Weibull, _instance)
        batch = Size(batch_shape)
        Weibull._take(new, self.scale.expand(batch), self.concentration.expand(batch))
        base = self.base_dist.expand(batch)
        TransformedDistribution.__init__(
            new, base, Weibull._make_transforms(new), validate_args=False
        )
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.scale * t.exp(t.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Any:
        """The most probable value."""
        ratio = (self.concentration - 1) / self.concentration
        return self.scale * ratio**self.concentration_reciprocal

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        inverse = self.concentration_reciprocal
        second = t.exp(t.lgamma(1 + 2 * inverse))
        return self.scale.pow(2) * (second - t.exp(2 * t.lgamma(1 + inverse)))

    def entropy(self) -> Any:
        """The expected information of a sample."""
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + t.log(self.scale * inverse) + 1
