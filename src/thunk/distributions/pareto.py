"""The Pareto distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.exponential import Exponential
from thunk.distributions.transformed_distribution import TransformedDistribution
from thunk.distributions.transforms import AffineTransform, ExpTransform
from thunk.distributions.utils import broadcast_all


class Pareto(TransformedDistribution):
    """Numbers above `scale`, exceeded with a power `alpha` of their ratio to it."""

    arg_constraints: ClassVar[Any] = {
        "alpha": constraints.positive, "scale": constraints.positive,
    }  # fmt: skip
    _parameters: ClassVar[dict[str, int]] = {"scale": 0, "alpha": 0}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Where samples lie."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Any:
        """The expected value."""
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self.scale

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
