"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.autograd.modes import no_grad
from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.gamma import Gamma
from thunk.distributions.odds import Odds
from thunk.distributions.utils import lazy_property
from thunk.ops.registry import t


class NegativeBinomial(Odds, Distribution):
    """Successes of probability `probs` before `total_count` failures."""

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support: Any = constraints.nonnegative_integer
    _parameters: ClassVar[dict[str, int]] = {"total_count": 0, "probs": 0, "logits": 0}
    _kept = ("_given",)

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        (self.total_count,) = self._take_odds(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.total_count * t.exp(self.logits)

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return self.mean / t.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Any:
        return Gamma(self.total_count, t.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        with no_grad():
            return t.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of `value`."""
        self._checked(value)
        count = self.total_count
        weight = count * t.log_sigmoid(-self.logits) + value * t.log_sigmoid(self.logits)
        ways = t.lgamma(count + value) - t.lgamma(1.0 + value) - t.lgamma(count)
        return weight + ways.masked_fill(count + value == 0.0, 0.0)
