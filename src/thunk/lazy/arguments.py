"""Enters: the arguments of a call. Leaves: its tensors, and where each stands among them.

Invariant: a place found in one call finds the same argument in every call of the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from thunk.types.tensor_base import TensorBase

Place = tuple[Any, ...]


def places_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Any, Place]:
    """The first place of every tensor among the arguments."""
    found: dict[Any, Place] = {}
    for index, value in enumerate(args):
        _collect(value, (index,), found)
    for name, value in kwargs.items():
        _collect(value, (name,), found)
    return found


def _collect(value: Any, place: Place, found: dict[Any, Place]) -> None:
    if isinstance(value, TensorBase):
        found.setdefault(value, place)
    elif isinstance(value, (tuple, list)):
        for index, each in enumerate(value):
            _collect(each, (*place, index), found)


def argument_at(place: Place, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The argument at `place`."""
    first = place[0]
    value = args[first] if type(first) is int else kwargs[first]
    for index in place[1:]:
        value = value[index]
    return value


def items_at(places: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """A function from a list to its items at `places`."""
    if not places:
        return _nothing
    if len(places) == 1:
        place = places[0]
        return lambda values: (values[place],)
    return itemgetter(*places)


def _nothing(values: Any) -> tuple[Any, ...]:
    return ()
