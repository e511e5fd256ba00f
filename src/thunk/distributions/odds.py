"""Enters: probabilities or logits. Leaves: both, the one not given derived when it is asked for.

Invariant: exactly one is given; the other never goes stale, since neither changes.
"""

from __future__ import annotations

from typing import Any

from thunk.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from thunk.types.size import Size


def check_one_given(name: str, probs: Any, logits: Any) -> str:
    """Which of the two was given."""
    if (probs is None) == (logits is None):
        found = "both" if probs is not None else "neither"
        raise ValueError(
            f"{name}: Either `probs` or `logits` must be specified, but not both: got {found}"
        )
    return "probs" if logits is None else "logits"


class Odds:
    """What distributions with `probs` and `logits` share."""

    _binary = True
    _given: str

    def _take_odds(self, probs: Any, logits: Any, *others: Any) -> list[Any]:
        """Keep the one given; what it was broadcast with comes back in its dtype."""
        self._given = check_one_given(type(self).__name__, probs, logits)
        *rest, value = broadcast_all(*others, logits if probs is None else probs)
        setattr(self, self._given, value)
        return [each.type_as(value) for each in rest]

    @lazy_property
    def logits(self) -> Any:
        """Logarithms of odds."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def _param(self) -> Any:
        return self.__dict__[self._given]

    @property
    def param_shape(self) -> Size:
        """The shape of what was given."""
        shape: Size = self._param.shape
        return shape

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)


class OfCategories:
    """What distributions built on a `Categorical` share."""

    _categorical: Any

    @property
    def probs(self) -> Any:
        """Probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """Logarithms of probabilities."""
        return self._categorical.logits

    @property
    def _param(self) -> Any:
        return self._categorical._param

    @property
    def param_shape(self) -> Size:
        """The shape of what was given."""
        shape: Size = self._categorical.param_shape
        return shape

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._categorical._new(*args, **kwargs)
