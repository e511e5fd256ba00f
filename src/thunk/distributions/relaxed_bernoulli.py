"""Bernoulli numbers softened by a temperature, so that samples have gradients."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.odds import Odds
from thunk.distributions.transformed_distribution import TransformedDistribution
from thunk.distributions.transforms import SigmoidTransform
from thunk.distributions.utils import broadcast_all, clamp_probs
from thunk.ops.registry import t


class LogitRelaxedBernoulli(Odds, Distribution):
    """Logits of softened Bernoulli numbers."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support: Any = constraints.real
    _parameters: ClassVar[dict[str, int]] = {"probs": 0, "logits": 0}
    _kept = ("_given", "temperature")

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._take_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        rank = clamp_probs(t.rand(shape, dtype=probs.dtype, device=probs.device))
        noise = rank.log() - (-rank).log1p()
        return (noise + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        gap = logits - value * self.temperature
        return self.temperature.log() + gap - 2 * gap.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1, the nearer to them the lower the temperature."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support: Any = constraints.unit_interval
    has_rsample: Any = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """How soft the numbers are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """Logarithms of odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """Probabilities of 1."""
        return self.base_dist.probs
