"""The largest numbers of a row, in PyTorch's order: a vector and a count enter, positions leave.

Invariant: the order is descending with NaN first; among equal numbers it is the one that the C++
library's partial_sort, nth_element and sort leave, because PyTorch's `topk` calls them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
# A number and its position.
Entry = tuple[float, int]

# Up to this length, the C++ library sorts by insertion.
_SHORT = 16
_SHORT_SELECTION = 3
# PyTorch sorts partially if at most one element in so many is asked for.
_FEW = 64


def largest_in_order(values: npt.NDArray[Any], count: int) -> Int64Array:
    """The positions of the `count` largest numbers, the largest first."""
    if count == 1:
        return np.array([np.argmax(values)], dtype=np.int64)
    keys = np.where(np.isnan(values), np.inf, values)
    order = np.argsort(-keys, kind="stable")
    leading = keys[order[: count + 1]]
    if np.isnan(values).any() or (leading[1:] == leading[:-1]).any():
        return _as_the_library_does(values, count)
    return order[:count].astype(np.int64)


def _as_the_library_does(values: npt.NDArray[Any], count: int) -> Int64Array:
    entries: list[Entry] = [(value, place) for place, value in enumerate(values.tolist())]
    if count * _FEW <= len(entries):
        _partial_sort(entries, count)
    else:
        _nth_element(entries, count - 1)
        _sort(entries, count - 1)
    return np.array([place for _, place in entries[:count]], dtype=np.int64)


def _precedes(left: Entry, right: Entry) -> bool:
    if math.isnan(left[0]):
        return not math.isnan(right[0])
    return left[0] > right[0]


def _partial_sort(entries: list[Entry], middle: int) -> None:
    _heap_select(entries, 0, middle, len(entries))
    _sort_heap(entries, 0, middle)


def _heap_select(entries: list[Entry], first: int, middle: int, last: int) -> None:
    """Make a heap of the first entries and exchange its worst one for each better later one."""
    length = middle - first
    for parent in range((length - 2) // 2, -1, -1):
        _sift(entries, first, parent, length, entries[first + parent])
    for place in range(middle, last):
        if _precedes(entries[place], entries[first]):
            entry, entries[place] = entries[place], entries[first]
            _sift(entries, first, 0, length, entry)


def _sort_heap(entries: list[Entry], first: int, last: int) -> None:
    for end in range(last - 1, first, -1):
        entry, entries[end] = entries[end], entries[first]
        _sift(entries, first, 0, end - first, entry)


def _sift(entries: list[Entry], first: int, hole: int, length: int, entry: Entry) -> None:
    """Move the hole of a heap down to a leaf, then up to where the entry belongs."""
    top, child = hole, hole
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if _precedes(entries[first + child], entries[first + child - 1]):
            child -= 1
        entries[first + hole] = entries[first + child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * child + 1
        entries[first + hole] = entries[first + child]
        hole = child
    parent = (hole - 1) // 2
    while hole > top and _precedes(entries[first + parent], entry):
        entries[first + hole] = entries[first + parent]
        hole = parent
        parent = (hole - 1) // 2
    entries[first + hole] = entry


def _nth_element(entries: list[Entry], nth: int) -> None:
    first, last = 0, len(entries)
    depth = 2 * (last.bit_length() - 1)
    while last - first > _SHORT_SELECTION:
        if depth == 0:
            _heap_select(entries, first, nth + 1, last)
            entries[first], entries[nth] = entries[nth], entries[first]
            return
        depth -= 1
        cut = _partition(entries, first, last)
        if cut <= nth:
            first = cut
        else:
            last = cut
    _insertion_sort(entries, first, last)


def _partition(entries: list[Entry], first: int, last: int) -> int:
    """Split by the median of the second, the middle and the last entry."""
    _median_to_first(entries, first, first + 1, first + (last - first) // 2, last - 1)
    pivot = entries[first]
    low, high = first + 1, last
    while True:
        while _precedes(entries[low], pivot):
            low += 1
        high -= 1
        while _precedes(pivot, entries[high]):
            high -= 1
        if low >= high:
            return low
        entries[low], entries[high] = entries[high], entries[low]
        low += 1


def _median_to_first(entries: list[Entry], target: int, a: int, b: int, c: int) -> None:
    if _precedes(entries[a], entries[b]):
        if _precedes(entries[b], entries[c]):
            median = b
        elif _precedes(entries[a], entries[c]):
            median = c
        else:
            median = a
    elif _precedes(entries[a], entries[c]):
        median = a
    elif _precedes(entries[b], entries[c]):
        median = c
    else:
        median = b
    entries[target], entries[median] = entries[median], entries[target]


def _sort(entries: list[Entry], last: int) -> None:
    if last < 2:
        return
    _sort_coarsely(entries, 0, last, 2 * (last.bit_length() - 1))
    _insertion_sort(entries, 0, min(last, _SHORT))
    for place in range(_SHORT, last):
        _insert(entries, place)


def _sort_coarsely(entries: list[Entry], first: int, last: int, depth: int) -> None:
    while last - first > _SHORT:
        if depth == 0:
            _heap_select(entries, first, last, last)
            _sort_heap(entries, first, last)
            return
        depth -= 1
        cut = _partition(entries, first, last)
        _sort_coarsely(entries, cut, last, depth)
        last = cut


def _insertion_sort(entries: list[Entry], first: int, last: int) -> None:
    for place in range(first + 1, last):
        if _precedes(entries[place], entries[first]):
            entries.insert(first, entries.pop(place))
        else:
            _insert(entries, place)


def _insert(entries: list[Entry], place: int) -> None:
    entry = entries[place]
    while _precedes(entry, entries[place - 1]):
        entries[place] = entries[place - 1]
        place -= 1
    entries[place] = entry
