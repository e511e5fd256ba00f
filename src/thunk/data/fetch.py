"""Enters: indices from a sampler. Leaves: data, collated or converted: one item of a loader.

Invariant: the shortcut of a dataset (`__collated__`) is taken only if the default collation would
follow, unchanged, and gives the same values.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from thunk.data.collate import default_collate, rules_are_built_in


class DatasetKind(IntEnum):
    """Whether samples are asked for by key or come as a stream."""

    Map = 0
    Iterable = 1


class MapFetcher:
    """Reads a dataset by key."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, index: Any) -> Any:
        """The item for an index, or for the indices of a batch."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        if self.collate_fn is default_collate and rules_are_built_in():
            at_once = getattr(self.dataset, "__collated__", None)
            batch = None if at_once is None else at_once(index)
            if batch is not None:
                return batch
        samples_at_once = getattr(self.dataset, "__getitems__", None)
        if samples_at_once:
            return self.collate_fn(samples_at_once(index))
        return self.collate_fn([self.dataset[each] for each in index])


class StreamFetcher:
    """Reads a dataset as a stream; raises StopIteration at its end."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> None:
        self.stream = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The next item: as many samples as `index` has entries, or one."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.stream))
        samples = []
        for _ in index:
            try:
                samples.append(next(self.stream))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.drop_last and len(samples) < len(index)):
            raise StopIteration
        return self.collate_fn(samples)


def fetcher_for(
    kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
) -> MapFetcher | StreamFetcher:
    """The reader that suits a dataset."""
    reader = MapFetcher if kind == DatasetKind.Map else StreamFetcher
    return reader(dataset, auto_collation, collate_fn, drop_last)
