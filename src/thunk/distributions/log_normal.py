"""The log-normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.normal import Normal
from thunk.distributions.transformed_distribution import TransformedDistribution
from thunk.distributions.transforms import ExpTransform


class LogNormal(TransformedDistribution):
    """Exponentials of normal numbers."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.positive
    has_rsample: Any = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Any:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Any:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        """The expected value."""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return self.base_dist.entropy() + self.loc
