"""Rows of one 1 and zeros softened by a temperature, so that samples have gradients."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.categorical import Categorical
from thunk.distributions.distribution import Distribution
from thunk.distributions.odds import OfCategories
from thunk.distributions.transformed_distribution import TransformedDistribution
from thunk.distributions.transforms import ExpTransform
from thunk.distributions.utils import broadcast_all, clamp_probs
from thunk.ops.registry import t


class ExpRelaxedCategorical(OfCategories, Distribution):
    """Logarithms of softened rows."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip
    support: Any = constraints.real_vector
    has_rsample = True
    _inner = ("_categorical",)
    _kept = ("temperature",)

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        shape = self._extended_shape(sample_shape)
        rank = clamp_probs(t.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-rank.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        score = logits - value * self.temperature
        score = (score - score.logsumexp(-1, keepdim=True)).sum(-1)
        return score + (math.lgamma(count) + self.temperature.log() * (count - 1))


class RelaxedOneHotCategorical(TransformedDistribution):
    """Shares of a whole, the nearer to one class the lower the temperature."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip
    support: Any = constraints.simplex
    has_rsample: Any = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """How soft the rows are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """Logarithms of probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """Probabilities of the classes."""
        return self.base_dist.probs
