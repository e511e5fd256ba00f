"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.autograd.modes import no_grad
from thunk.distributions import constraints
from thunk.distributions.exp_family import ExponentialFamily
from thunk.distributions.odds import Odds
from thunk.distributions.utils import broadcast_all
from thunk.ops.registry import t


class Bernoulli(Odds, ExponentialFamily):
    """1 with probability `probs`, else 0."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support: Any = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _parameters: ClassVar[dict[str, int]] = {"probs": 0, "logits": 0}
    _kept = ("_given",)

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.probs

    @property
    def mode(self) -> Any:
        """The most probable value, NaN where both are as probable."""
        likelier = (self.probs >= 0.5).to(self.probs.dtype)
        return t.where(self.probs == 0.5, math.nan, likelier)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        with no_grad():
            return t.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of `value`."""
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        return -t.binary_cross_entropy_with_logits(logits, value, reduction=0)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return t.binary_cross_entropy_with_logits(self.logits, self.probs, reduction=0)

    def enumerate_support(self, expand: bool = True) -> Any:
        """0 and 1."""
        values = t.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (t.logit(self.probs),)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        return t.log1p(t.exp(natural_params[0]))
