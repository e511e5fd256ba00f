"""The gradient of reductions into given places, shared by scatter_reduce and index_reduce.

Enters: a gradient and the operands. Leaves: the gradients of target and source.
Invariant: the two operators differ only in their `Paths` between target and source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thunk.ops.registry import t

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


@dataclass(frozen=True, slots=True)
class Paths:
    """How values go from target to source places and back."""

    collect: Callable[[Any], Any]  # what the target holds, at each element of the source
    add: Callable[[Any, Any], Any]  # the source added into the target
    reduce: Callable[[Any, Any, bool], Any]  # the source multiplied into the target
    clear: Callable[[Any], Any]  # the target with zeros where the source goes
    name: str


def reduced_back(
    grad: Any, self: Any, source: Any, result: Any, reduce: str, include_self: bool, paths: Paths
) -> tuple[Any, Any]:
    """Gradients of `self` and `source`."""
    if reduce == "sum":
        own, others = grad, paths.collect(grad)
    elif reduce == "mean":
        own, others = _mean_back(grad, source, include_self, paths)
    elif reduce == "prod":
        own, others = _product_back(grad, self, source, result, include_self, paths)
    else:
        own, others = _extreme_back(grad, self, source, result, paths)
    return (own if include_self else paths.clear(own)), others


def _mean_back(grad: Any, source: Any, include_self: bool, paths: Paths) -> tuple[Any, Any]:
    counts = t.ones_like(grad) if include_self else t.zeros_like(grad)
    counts = paths.add(counts, t.ones_like(source))
    share = grad / t.masked_fill(counts, counts == 0, 1)
    return share, paths.collect(share)


def _product_back(
    grad: Any, self: Any, source: Any, result: Any, include_self: bool, paths: Paths
) -> tuple[Any, Any]:
    """Each factor's gradient is the product of the others, zeros taken out before dividing."""
    safe_self = t.masked_fill(self, self == 0, 1)
    own = grad * paths.reduce(safe_self, source, include_self) / safe_self
    is_zero = source == 0
    zeros_met = paths.collect(paths.add(t.zeros_like(self), is_zero.to(self.dtype)))
    only_zero = t.logical_and(is_zero, zeros_met == 1)
    without_it = paths.reduce(self, t.masked_fill(source, only_zero, 1), include_self)
    others = t.where(
        only_zero,
        paths.collect(grad * without_it),
        paths.collect(grad * result) / t.masked_fill(source, is_zero, 1),
    )
    return own, others


def _extreme_back(
    grad: Any, self: Any, source: Any, result: Any, paths: Paths
) -> tuple[Any, Any]:
    """Ties share the gradient."""
    own_wins = (self == result).to(self.dtype)
    others_win = (source == paths.collect(result)).to(self.dtype)
    share = grad / paths.add(own_wins, others_win)
    return own_wins * share, others_win * paths.collect(share)
