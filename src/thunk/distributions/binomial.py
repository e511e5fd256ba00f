"""The binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.autograd.modes import no_grad
from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.odds import Odds
from thunk.ops.registry import t


class Binomial(Odds, Distribution):
    """Successes among `total_count` tries of probability `probs`."""

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
        "logits": constraints.real,
    }  # fmt: skip
    has_enumerate_support = True
    _parameters: ClassVar[dict[str, int]] = {"total_count": 0, "probs": 0, "logits": 0}
    _kept = ("_given",)

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        (self.total_count,) = self._take_odds(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """Where samples lie."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return t.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of `value`."""
        self._checked(value)
        count, logits = self.total_count, self.logits
        ways = t.lgamma(count + 1) - t.lgamma(value + 1) - t.lgamma(count - value + 1)
        # log(1 + exp(logits)), with a gradient of a half at 0 from either side
        above = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        return value * logits + ways - count * (above + t.log1p(t.exp(-t.abs(logits))))

    def _one_count(self, name: str) -> int:
        count = int(self.total_count.max().item())
        if not (self.total_count == count).all():
            raise NotImplementedError(
                f"Binomial: Inhomogeneous total count not supported by `{name}`"
            )
        return count

    def entropy(self) -> Any:
        """The expected information of a sample."""
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(t.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        """0, 1, ... up to the number of tries."""
        count = self._one_count("enumerate_support")
        values = t.arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values
