"""Enters: a call that looks into memory at a place of its own each time. Leaves: what it shows.

`data[i : i + 64]` with another `i` would be another path, and another program, each time. From the
second place on such calls are made at once, as they only name memory, and what they show is a leaf
that says nothing of where it lies; a write at a place of its own waits for what it writes.
Invariant: only memory that is no part of the walk's results is looked at; it is read now.
"""

from __future__ import annotations

import operator
from typing import Any

from thunk.autograd.meta import requires_grad
from thunk.dispatch.hot import Entry
from thunk.lazy.eager import eager
from thunk.lazy.metrics import count
from thunk.lazy.node import TraceNode
from thunk.lazy.trace import Trace, has_storage
from thunk.types.dtype import INTEGRAL, uint8
from thunk.types.tensor_base import TensorBase


def looks_elsewhere(
    trace: Trace, position: TraceNode, key: tuple[Any, ...], args: tuple[Any, ...]
) -> bool:
    """Whether this call was made here before, at another place of the same memory.

    Behind a call of which this is so, the walk is new; there a place decides that was not met
    anywhere.
    """
    source = args[0]
    if not _is_memory(source) or requires_grad(source):
        return False
    if source._storage.foreign:
        return True  # recorded, it would be read as a whole
    place = tuple([part for part in key if type(part) is int])
    form = tuple([int if type(part) is int else part for part in key])
    if position.places is None:
        position.places = {}
    anywhere = trace.places.setdefault(tuple([_kind(part) for part in form]), {place: None})
    is_new_place = place not in anywhere
    if is_new_place and len(anywhere) < _MOST_PLACES:
        anywhere[place] = None
    first = position.places.get(form)
    if first is None:
        varies = trace.looked_elsewhere and is_new_place
        first = position.places[form] = _NOWHERE if varies else place
    trace.looked_elsewhere |= first != place
    return bool(first != place)


_MOST_PLACES = 64
_NOWHERE = ("no place is the first",)


def _kind(part: Any) -> Any:
    return part.spec if isinstance(part, TraceNode) else part


def with_numbers(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an indexing with the number of each tensor that stands for one."""
    if len(args) < 2 or not _has_number(args[1]):
        return args
    return (args[0], _numbers_in(args[1]), *args[2:])


def _has_number(index: Any) -> bool:
    if isinstance(index, tuple):
        return any(map(_has_number, index))
    if isinstance(index, slice):
        return any(map(_is_number, (index.start, index.stop, index.step)))
    return _is_number(index)


def _is_number(value: Any) -> bool:
    if not isinstance(value, TensorBase):
        return False
    spec = value._spec
    return not spec.shape and spec.dtype.category == INTEGRAL and spec.dtype is not uint8


def _numbers_in(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple([_numbers_in(each) for each in index])
    if isinstance(index, slice):
        return slice(*[_numbers_in(each) for each in (index.start, index.stop, index.step)])
    return operator.index(index) if _is_number(index) else index


def _is_memory(tensor: Any) -> bool:
    """Whether a tensor's contents are in memory, and the walk holds no newer ones."""
    return has_storage(tensor) and tensor._storage.trace is None and tensor._storage.existed


def at_once(trace: Trace, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make the call now."""
    count("VaryingPlace")
    if entry.windows == "write":
        trace.launch("write at a place that varies")
    with eager():
        result = entry.slow(args, kwargs)
    if isinstance(result, TensorBase) and result._storage is args[0]._storage and (
        result._node is None and not result._storage.foreign
    ):
        trace.know_window(result)
    return result
