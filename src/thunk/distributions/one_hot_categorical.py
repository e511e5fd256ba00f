"""Categorical distributions whose samples are rows of one 1 and zeros."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.categorical import Categorical
from thunk.distributions.distribution import Distribution
from thunk.distributions.odds import OfCategories
from thunk.ops.registry import t


class OneHotCategorical(OfCategories, Distribution):
    """Classes, written as rows with a 1 in their place."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip
    support: Any = constraints.one_hot
    has_enumerate_support = True
    _inner = ("_categorical",)

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def _row(self, places: Any) -> Any:
        return t.one_hot(places, self._categorical._num_events).to(self.probs.dtype)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.probs

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self._row(self.probs.argmax(-1))

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        return self._row(self._categorical.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of `value`."""
        self._checked(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """All rows."""
        count = self._event_shape[0]
        rows = t.eye(count, dtype=self._param.dtype, device=self._param.device)
        rows = rows.view((count, *[1] * len(self._batch_shape), count))
        return rows.expand((count, *self._batch_shape, count)) if expand else rows


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Samples whose gradient is that of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())
