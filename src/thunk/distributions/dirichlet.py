"""Dirichlet's distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.exp_family import ExponentialFamily
from thunk.ops.registry import t


class Dirichlet(ExponentialFamily):
    """Shares of a whole: gamma numbers over their sum."""

    arg_constraints: ClassVar[Any] = {
        "concentration": constraints.independent(constraints.positive, 1),
    }
    support: Any = constraints.simplex
    has_rsample = True
    _parameters: ClassVar[dict[str, int]] = {"concentration": 1}

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError(
                "Dirichlet: `concentration` parameter must be at least one-dimensional, got a "
                "number"
            )
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def _total(self) -> Any:
        return self.concentration.sum(-1, True)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.concentration / self._total

    @property
    def mode(self) -> Any:
        """The most probable value: a corner where all concentrations are below 1."""
        above = (self.concentration - 1).clamp(min=0.0)
        found = above / above.sum(-1, True)
        corner = t.one_hot(found.argmax(-1), above.shape[-1]).to(found.dtype)
        below = (self.concentration < 1).all(-1, keepdim=True)
        return t.where(below, corner, found)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        total = self._total
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        shape = self._extended_shape(sample_shape)
        return t._sample_dirichlet(self.concentration.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        return (
            t.xlogy(self.concentration - 1.0, value).sum(-1)
            + t.lgamma(self.concentration.sum(-1))
            - t.lgamma(self.concentration).sum(-1)
        )

    def entropy(self) -> Any:
        """The expected information of a sample."""
        count, total = self.concentration.size(-1), self.concentration.sum(-1)
        slopes = ((self.concentration - 1.0) * t.digamma(self.concentration)).sum(-1)
        normalizer = t.lgamma(self.concentration).sum(-1) - t.lgamma(total)
        return normalizer - (count - total) * t.digamma(total) - slopes

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.concentration,)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        (x,) = natural_params
        return x.lgamma().sum(-1) - t.lgamma(x.sum(-1))
