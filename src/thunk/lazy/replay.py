"""Enters: a call that was made here before. Leaves: what it left then, from the arguments of now.

Invariant: either everything is done or nothing: what the replay relies on is tested before it
changes anything, and a call that fails the test goes the slow way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thunk.base.errors import out_of_bounds
from thunk.dispatch.hot import result_kind
from thunk.lazy.arguments import argument_at
from thunk.lazy.chance import next_numbers
from thunk.lazy.metrics import count
from thunk.lazy.node import TraceNode
from thunk.lazy.record import OneOf
from thunk.lazy.rehearse import is_known
from thunk.lazy.trace import has_storage
from thunk.runtime.storage import array_of
from thunk.runtime.tensors import forget_value
from thunk.types.spec import TensorSpec

if TYPE_CHECKING:
    from thunk.lazy.trace import Trace

_bare = object.__new__


class Kind:
    """What a part of a result or a number is."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


NEW, VIEW, ONE_OF, SHARED = map(Kind, ("new", "view", "one of several", "shared"))
ARGUMENT, PLAIN = map(Kind, ("argument", "plain"))
RAW, SEED, OFFSET = map(Kind, ("raw", "seed", "offset"))


class Replay:
    """How to do a call again.

    `numbers` says where each number of the walk comes from, `writes` which arguments get new nodes,
    `shape` what the result is made of.
    """

    __slots__ = ("numbers", "random", "shape", "writes")

    def __init__(
        self, numbers: list[tuple[Any, Any]], writes: list[tuple[Any, ...]], shape: Any
    ) -> None:
        self.numbers = numbers
        self.random = any(kind is SEED or kind is OFFSET for kind, _ in numbers)
        self.writes = writes
        self.shape = shape

    @classmethod
    def of_one(cls) -> Replay:
        """The replay of a node that is its own only, plain result."""
        return _OnePlain([], [], None)

    def run(
        self, trace: Trace, position: TraceNode, node: TraceNode, args: tuple[Any, ...],
        kwargs: dict[str, Any], given: Any,
    ) -> Any:  # fmt: skip
        """Do the call again at `position`, which leads to `node`."""
        targets = []
        for place, new, stored, bumps, depth in self.writes:
            target = argument_at(place, args, kwargs)
            if not can_write(target, stored):
                count("ReplayRefused")
                return key_of(node).slow(args, kwargs)
            targets.append((target, new, stored, bumps, depth))
        made: list[Any] = []
        result = _make(self.shape, args, kwargs, made)
        numbers = self._numbers(given) if self.numbers else None
        try:
            if trace.node is not position:
                return key_of(node).slow(args, kwargs)
            if numbers is not None:
                trace.scalars += numbers
            for each in targets:
                write(trace, *each)
            trace.results += made
            trace.node = node
        except BaseException:
            trace.repair()
            raise
        return result

    def _numbers(self, given: Any) -> list[Any]:
        found: list[Any] = []
        for kind, value in self.numbers:
            if kind is RAW:
                found.append(given[value])
            elif kind is PLAIN:
                found.append(value)
            elif kind is SEED:
                found += next_numbers()
        return found


class _OnePlain(Replay):
    __slots__ = ()

    def run(
        self, trace: Trace, position: TraceNode, node: TraceNode, args: tuple[Any, ...],
        kwargs: dict[str, Any], given: Any,
    ) -> Any:  # fmt: skip
        made = _bare(result_kind[0])
        made._node = node
        try:
            trace.scalars += given
            trace.results.append(made)
            trace.node = node
        except BaseException:
            trace.repair()
            raise
        return made


class _OneView(Replay):
    """A view of the first argument and nothing else."""

    __slots__ = ("node", "spec", "start")

    def __init__(self, shape: Any) -> None:
        super().__init__([], [], shape)
        self.node: TraceNode = shape[1]
        self.spec: TensorSpec = self.node.spec
        self.start: int = shape[3]

    def run(
        self, trace: Trace, position: TraceNode, node: TraceNode, args: tuple[Any, ...],
        kwargs: dict[str, Any], given: Any,
    ) -> Any:  # fmt: skip
        source = args[0]
        storage, versions = source._storage, source._versions
        if storage.foreign or source._spec.offset != self.start or trace.node is not position:
            return super().run(trace, position, node, args, kwargs, given)
        view = _bare(result_kind[0])
        view._node = self.node
        view._storage = storage
        view._versions = versions
        view._spec = self.spec
        view._origin = source
        try:
            trace.results.append(view)
            storage.users += 1
            trace.node = node
        except BaseException:
            trace.repair()
            raise
        return view


class _OneWrite(Replay):
    """A write to the first argument, which is the result, with the numbers that were given."""

    __slots__ = ("written",)

    def __init__(
        self, numbers: list[tuple[Any, Any]], writes: list[tuple[Any, ...]], shape: Any
    ) -> None:
        super().__init__(numbers, writes, shape)
        self.written = writes[0][1:]

    def run(
        self, trace: Trace, position: TraceNode, node: TraceNode, args: tuple[Any, ...],
        kwargs: dict[str, Any], given: Any,
    ) -> Any:  # fmt: skip
        target, written = args[0], self.written
        if not can_write(target, written[1]):
            count("ReplayRefused")
            return key_of(node).slow(args, kwargs)
        target._versions  # noqa: B018  (found while nothing has changed)
        try:
            if trace.node is not position:
                return key_of(node).slow(args, kwargs)
            if self.numbers:
                trace.scalars += given
            write(trace, target, *written)
            trace.node = node
        except BaseException:
            trace.repair()
            raise
        return target


class _Bounded(Replay):
    """A call with indices, of which it is known into which dimension of what size they are."""

    __slots__ = ("bounds",)

    def __init__(
        self, numbers: list[tuple[Any, Any]], writes: list[tuple[Any, ...]], shape: Any,
        bounds: list[tuple[Any, int, int]],
    ) -> None:  # fmt: skip
        super().__init__(numbers, writes, shape)
        self.bounds = bounds

    def run(
        self, trace: Trace, position: TraceNode, node: TraceNode, args: tuple[Any, ...],
        kwargs: dict[str, Any], given: Any,
    ) -> Any:  # fmt: skip
        for place, dim, size in self.bounds:
            expect_within(argument_at(place, args, kwargs), dim, size)
        return super().run(trace, position, node, args, kwargs, given)


def replay_of(
    numbers: list[tuple[Any, Any]], writes: list[tuple[Any, ...]], shape: Any,
    bounds: list[tuple[Any, int, int]],
) -> Replay:  # fmt: skip
    """The replay of these parts, by the shortest way that does all of them."""
    if bounds:
        return _Bounded(numbers, writes, shape, bounds)
    if shape[0] is VIEW and shape[2] == (0,) and not writes and not numbers:
        return _OneView(shape)
    as_given = numbers == [(RAW, index) for index in range(len(numbers))]
    if shape == (ARGUMENT, (0,)) and len(writes) == 1 and writes[0][0] == (0,) and as_given:
        return _OneWrite(numbers, writes, shape)
    return Replay(numbers, writes, shape)


def expect_within(index: Any, dim: int, size: int) -> None:
    """Refuse indices that name none of `size` elements, as far as they are known."""
    if not is_known(index):
        return
    array = array_of(index._storage, index._spec)
    if array.size and (array.min() < -size or array.max() >= size):
        wrong = array[(array < -size) | (array >= size)].flat[0]
        raise IndexError(out_of_bounds("index", wrong, dim, size, -size))


def key_of(node: TraceNode) -> Any:
    """The entry whose call leads to a marked node."""
    return node.args[0]


def can_write(target: Any, stored: bool) -> bool:
    """Whether `target` is as plain as it was when the write was remembered."""
    if not stored:
        return target._node is not None and not has_storage(target)
    storage = target._storage
    return storage.home is target._spec and storage.users == 1 and not storage.foreign


def write(
    trace: Trace, target: Any, new: TraceNode, stored: bool, bumps: int, depth: int
) -> None:
    """Give `target` its new node; operations up to `depth` may not read the old one now."""
    if stored:
        storage = target._storage
        if storage.trace is None:
            storage.trace = trace
            trace.storages.append(storage)
        storage.node = new
    trace.overwritten[target._node.memory] = depth
    target._node = new
    target._versions.value += bumps


def _make(shape: Any, args: tuple[Any, ...], kwargs: dict[str, Any], made: list[Any]) -> Any:
    kind = shape[0]
    if kind is NEW:
        tensor = _bare(result_kind[0])
        tensor._node = shape[1]
        made.append(tensor)
        return tensor
    if kind is VIEW or kind is SHARED or kind is ONE_OF:
        return _make_view(kind, shape[1], argument_at(shape[2], args, kwargs), shape[3], made)
    if kind is ARGUMENT:
        return argument_at(shape[1], args, kwargs)
    if kind is PLAIN:
        return shape[1]
    parts = [_make(each, args, kwargs, made) for each in shape[1]]
    if kind is list:
        return parts
    return tuple(parts) if kind is tuple else kind(parts)


def _make_view(kind: Kind, node: TraceNode, source: Any, start: int, made: list[Any]) -> Any:
    storage = source._storage
    tensor = _bare(result_kind[0])
    tensor._node = node
    tensor._storage = storage
    tensor._versions = source._versions
    spec, shift = node.spec, source._spec.offset - start
    tensor._spec = replace(spec, offset=spec.offset + shift) if shift else spec
    if kind is VIEW:
        tensor._origin = source
    elif kind is ONE_OF:
        tensor._origin = OneOf(source)
    else:
        tensor._history = None
    storage.users += 1
    if storage.foreign:
        forget_value(tensor)
    made.append(tensor)
    return tensor

