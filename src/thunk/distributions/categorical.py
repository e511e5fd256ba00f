"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.odds import Odds, check_one_given
from thunk.ops.registry import t
from thunk.types.dtype import int64
from thunk.types.info import finfo
from thunk.types.size import Size


class Categorical(Odds, Distribution):
    """Numbers of classes, with the probabilities of the last dimension."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip
    has_enumerate_support = True
    _binary = False
    _parameters: ClassVar[dict[str, int]] = {"probs": 1, "logits": 1}
    _kept = ("_given", "_num_events")

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._given = check_one_given(type(self).__name__, probs, logits)
        given = logits if probs is None else probs
        if given.dim() < 1:
            raise ValueError(
                f"{type(self).__name__}: `{self._given}` parameter must be at least "
                "one-dimensional, got a number"
            )
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """Where samples lie."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        """Classes have no mean: NaN."""
        return self.probs.new_full(self._batch_shape, math.nan)

    @property
    def mode(self) -> Any:
        """The most probable class."""
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Any:
        """Classes have no variance: NaN."""
        return self.probs.new_full(self._batch_shape, math.nan)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = t.multinomial(rows, shape.numel(), True).t()
        return drawn.reshape(self._extended_shape(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of `value`."""
        self._checked(value)
        place, logits = t.broadcast_tensors([value.long().unsqueeze(-1), self.logits])
        return logits.gather(-1, place[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        finite = t.clamp(self.logits, min=finfo(self.logits.dtype).min)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All classes."""
        values = t.arange(self._num_events, dtype=int64, device=self._param.device)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values
