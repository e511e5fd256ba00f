"""Enters: a call that was not made at this place of the walk. Leaves: its result, remembered.

The call runs the slow way while a journal notes what it does to the walk. What can be done again
from the arguments alone becomes an edge: from here the same call is one dictionary look-up and a
`Replay`. Invariant: a call is remembered only if everything it did is understood.
"""

from __future__ import annotations

import sys
from typing import Any

from thunk.dispatch.hot import Entry
from thunk.dispatch.state import state
from thunk.ir.opdef import OpDef
from thunk.lazy.arguments import Place, argument_at, places_of
from thunk.lazy.chance import Offset, Seed
from thunk.lazy.layout import DEAD
from thunk.lazy.metrics import count
from thunk.lazy.node import TraceNode
from thunk.lazy.period import reason_to_cut
from thunk.lazy.record import OneOf, is_default
from thunk.lazy.rehearse import is_known
from thunk.lazy.replay import (
    ARGUMENT,
    NEW,
    OFFSET,
    ONE_OF,
    PLAIN,
    RAW,
    SEED,
    SHARED,
    VIEW,
    Replay,
    replay_of,
)
from thunk.lazy.trace import Trace, has_storage, slot_of
from thunk.lazy.varying import at_once, looks_elsewhere, with_numbers
from thunk.types.tensor_base import TensorBase


def on_miss(
    trace: Trace, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any,
    numbers: Any,
) -> Any:  # fmt: skip
    """Find the call once the modes are known, or make it and remember it."""
    if not state.records or "out" in kwargs:
        return entry.slow(args, kwargs)
    position = trace.end
    start = trace.at()
    reason = reason_to_cut(trace, start)
    if reason:
        trace.launch(reason)
        return entry.call(*args, **kwargs)  # the operands are leaves of a new walk
    if start is not position or key in start.children:
        found = start.children.get(key)
        if found is not None:
            return _replay(found).run(trace, start, found, args, kwargs, numbers)
    count("TraceMiss")
    if entry.windows:
        plain = with_numbers(args)
        if plain is not args:
            return entry.call(*plain, **kwargs)
        if looks_elsewhere(trace, start, key, args):
            return at_once(trace, entry, args, kwargs)
    journal = Journal(trace, start, args, kwargs)
    result = entry.slow(args, kwargs)
    journal.remember(entry, key, numbers, result)
    return result


_ONE_PLAIN = Replay.of_one()


def _replay(node: TraceNode) -> Replay:
    return _ONE_PLAIN if node.replay is None else node.replay


_INDEXED = frozenset({"aten::_index", "aten::_index_put"})


class Journal:
    """What one call does to a walk."""

    def __init__(
        self, trace: Trace, start: TraceNode, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.trace = trace
        self.start = start
        self.places = places_of(args, kwargs)
        self.generation = trace.generation
        self.mode = trace.mode  # a call may change modes inside, and has to restore them
        self.results = len(trace.results)
        self.leaves = len(trace.leaves)
        self.scalars = len(trace.scalars)
        self.externals = len(trace.externals)
        self.writes = len(trace.writes)
        self.placements = trace.placements
        self.before = [_geometry(each) for each in self.places]
        self.stored = [has_storage(each) for each in self.places]
        self.args, self.kwargs = args, kwargs

    def remember(self, entry: Entry, key: Any, numbers: Any, result: Any) -> None:
        """Make an edge of the call, if a replay can do what it did."""
        trace = self.trace
        if (
            trace.generation != self.generation
            or len(trace.leaves) != self.leaves
            or len(trace.externals) != self.externals
            or trace.placements != self.placements
            or not self._only_known_writes()
            or self._guards_integers()
        ):
            return
        trace.at()
        if trace.mode != self.mode:
            return
        recipe = self._numbers(entry, numbers)
        writes = self._writes()
        if recipe is None or writes is None:
            return
        made: list[Any] = []
        shape = self._shape_of(result, made)
        if shape is None:
            return
        if self._holds_more(made):
            return
        del trace.results[self.results :]
        trace.results += made
        end = trace.at()
        bounds = self._bounds() if entry.windows else []
        single = len(made) == 1 and shape[0] is NEW and not writes and not bounds
        if single and end.parent is self.start and shape[1] is end and self._plain(recipe, numbers):
            trace.counted_here()
            self.start.children[key] = end
            return
        mark = trace.mark((entry, key), (entry,))
        mark.replay = replay_of(recipe, writes, shape, bounds)
        self.start.children[key] = mark

    def _bounds(self) -> list[tuple[Place, int, int]]:
        """Which arguments are indices, into which dimension of what size."""
        found: list[tuple[Place, int, int]] = []
        known = {each._node: place for each, place in self.places.items() if is_known(each)}
        node: Any = self.trace.end
        while node is not None and node is not self.start:
            if isinstance(node.op, OpDef) and node.op.full_name in _INDEXED:
                for dim, index in enumerate(node.args[1]):
                    if index in known:
                        found.append((known[index], dim, node.args[0].spec.shape[dim]))
            node = node.parent
        return found

    def _guards_integers(self) -> bool:
        """Whether a float was given for an integer: most do not fit, and the call says so."""
        node: Any = self.trace.end
        while node is not None and node is not self.start:
            if any(not element.is_inexact for _, element in node.guards):
                return True
            node = node.parent
        return False

    def _holds_more(self, made: list[Any]) -> bool:
        """Whether somebody holds a result of this call that the call does not return."""
        results = self.trace.results
        counts = tuple(map(sys.getrefcount, results))
        known = {id(each) for each in made}
        return any(
            counts[index] > DEAD and id(results[index]) not in known
            for index in range(self.results, len(results))
        )

    def _only_known_writes(self) -> bool:
        """Whether the journal saw every change of an argument."""
        counts: dict[int, int] = {}
        for target, _, _ in self.trace.writes[self.writes :]:
            counter = id(target._versions)  # tensors that share memory may share it
            counts[counter] = counts.get(counter, 0) + 1
        for each, (storage, spec, version) in zip(self.places, self.before, strict=True):
            after = _geometry(each)
            if storage is not None and after[0] is not storage:
                return False
            if spec is not None and after[1] != spec:
                return False
            if after[2] - version != counts.get(id(slot_of(each, "_versions")), 0):
                return False
        return True

    def _plain(self, recipe: list[tuple[Any, Any]], numbers: Any) -> bool:
        return recipe == [(RAW, index) for index in range(len(numbers))]

    def _numbers(self, entry: Entry, numbers: Any) -> list[tuple[Any, Any]] | None:
        """Where each number that was appended comes from."""
        appended = self.trace.scalars[self.scalars :]
        recipe: list[tuple[Any, Any]] = []
        if numbers:
            return _order_of(entry, self.args, self.kwargs, appended, len(numbers))
        for value in appended:
            if type(value) is Seed:
                recipe.append((SEED, None))
            elif type(value) is Offset:
                recipe.append((OFFSET, None))
            else:
                recipe.append((PLAIN, value))
        return recipe

    def _writes(self) -> list[tuple[Any, ...]] | None:
        """Each target among the arguments, with its new node; None if another one was written."""
        found: dict[int, tuple[Any, ...]] = {}
        for target, simple, depth in self.trace.writes[self.writes :]:
            place = self.places.get(target)
            if place is None or not simple:
                return None
            at = next(i for i, each in enumerate(self.places) if each is target)
            bumps = found[id(target)][3] + 1 if id(target) in found else 1
            found[id(target)] = (place, target._node, self.stored[at], bumps, depth)
        return list(found.values())

    def _shape_of(self, result: Any, made: list[Any]) -> Any:
        """How to make the result again; new tensors are collected in the order of making."""
        if isinstance(result, TensorBase):
            return self._tensor(result, made)
        if isinstance(result, (tuple, list)):
            parts = [self._shape_of(each, made) for each in result]
            if any(each is None for each in parts):
                return None
            return (type(result), parts)
        if result is None or type(result) in (int, bool):
            return (PLAIN, result)
        return None

    def _tensor(self, result: Any, made: list[Any]) -> Any:
        place = self.places.get(result)
        if place is not None:
            return (ARGUMENT, place)
        node: TraceNode | None = result._node
        if node is None or node.trace is not self.trace or type(result) is not type_of_results():
            return None
        if any(result is each for each in made):
            return None
        if not any(result is each for each in self.trace.results[self.results :]):
            return None
        made.append(result)
        if not has_storage(result):
            return (NEW, node)
        for each, place in self.places.items():
            if has_storage(each) and each._storage is result._storage:
                return self._view(result, node, place)
        return None

    def _view(self, result: Any, node: TraceNode, place: Place) -> Any:
        origin = result._origin
        source = argument_at(place, self.args, self.kwargs)
        start = node.spec.offset - result._spec.offset + source._spec.offset
        if type(origin) is OneOf:
            result._origin = OneOf(source)  # what lies between is of no account
            return (ONE_OF, node, place, start)
        if origin is not None:
            result._origin = source
            return (VIEW, node, place, start)
        # An alias without a history, as `detach` gives.
        return (SHARED, node, place, start) if result._history is None else None


def _geometry(tensor: Any) -> tuple[Any, Any, int]:
    """Storage, spec and number of writes of a tensor, as far as they were made."""
    versions = slot_of(tensor, "_versions")
    count = 0 if versions is None else versions.value
    return slot_of(tensor, "_storage"), slot_of(tensor, "_spec"), count


def type_of_results() -> Any:
    """The class that results have."""
    return result_class[0]


result_class: list[Any] = [TensorBase]


def _order_of(
    entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], appended: list[Any], given: int
) -> list[tuple[Any, Any]] | None:
    """Which of the call's numbers each appended one is; the others are its defaults.

    The call is bound again with numbers that occur nowhere else.
    """
    if entry.resolve is None:
        return None
    markers: list[Any] = []

    def marked(value: Any, place: int | str) -> Any:
        if place in entry.places() and type(value) in (int, float):
            markers.append(type(value)(7919 * 10**9 + len(markers)))
            return markers[-1]
        return value

    new_args = tuple([marked(value, place) for place, value in enumerate(args)])
    new_kwargs = {name: marked(value, name) for name, value in kwargs.items()}
    op, bound = entry.resolve(new_args, new_kwargs)
    recipe: list[tuple[Any, Any]] = []
    for argument, value in zip(op.schema.arguments, bound, strict=True):
        if argument.name not in op.runtime_scalars or type(value) not in (int, float):
            continue
        if value in markers:
            recipe.append((RAW, markers.index(value)))
        elif not is_default(argument, value):
            recipe.append((PLAIN, value))
    used = [index for kind, index in recipe if kind is RAW]
    if len(recipe) != len(appended) or used != sorted(set(used)) or len(used) != given:
        return None
    return recipe
