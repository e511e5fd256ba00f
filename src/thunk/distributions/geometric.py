"""The geometric distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.autograd.modes import no_grad
from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.odds import Odds
from thunk.distributions.utils import broadcast_all
from thunk.ops.registry import t
from thunk.types.info import finfo


class Geometric(Odds, Distribution):
    """Failures before the first success, each try having probability `probs`."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support: Any = constraints.nonnegative_integer
    _parameters: ClassVar[dict[str, int]] = {"probs": 0, "logits": 0}
    _kept = ("_given",)

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Geometric: expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) "
                f"to be positive, got invalid values:\n{self.probs}"
            )

    @property
    def mean(self) -> Any:
        """The expected value."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return t.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            rank = self.probs.new_empty(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (rank.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of `value`."""
        self._checked(value)
        value, probs = broadcast_all(value, self.probs)
        failing = t.where((probs == 1) & (value == 0), 0.0, probs)  # 0 * log(0) is 0 here
        return value * (-failing).log1p() + self.probs.log()

    def entropy(self) -> Any:
        """The expected information of a sample."""
        once = t.binary_cross_entropy_with_logits(self.logits, self.probs, reduction=0)
        return once / self.probs
