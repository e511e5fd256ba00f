"""Enters: an optimizer's update of many tensors. Leaves: the same, by one step of the walk.

The update runs operator by operator the first time. Its targets get new nodes, which follow from
the place and from the nodes of all tensors that take part; numbers are inputs of the run, each one
once however many parameters it is for. Invariant: as for a single call, a replay relies only on
what it tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thunk.dispatch.state import state
from thunk.lazy.metrics import count
from thunk.lazy.node import TraceNode
from thunk.lazy.numbers import TracedFloat
from thunk.lazy.trace import Trace, has_storage


class Update:
    """What an update did: the new node of each target, the order of numbers, and where it ended."""

    __slots__ = ("aliases", "end", "order", "stale", "writes")

    def __init__(
        self, end: TraceNode, writes: list[tuple[int, TraceNode, int]], order: tuple[int, ...],
        aliases: list[tuple[bool, int]], stale: list[tuple[bool, int]],
    ) -> None:  # fmt: skip
        self.end = end
        self.writes = writes  # which target, its node, and how many tensors shared its memory
        self.order = order
        self.aliases = aliases  # where the walk held other views of the targets
        self.stale = stale


def update(
    key: tuple[Any, ...], targets: Sequence[Any], sources: Sequence[Any],
    numbers: Sequence[float], slow: Callable[[list[Any]], None],
) -> None:  # fmt: skip
    """Change `targets` in place as `slow(numbers)` does, from themselves, `sources` and `numbers`.

    `key` holds what selects the code of `slow`, besides its tensors.
    """
    trace: Trace | None = state.recorder
    if trace is None or not state.records:
        slow(list(numbers))
        return
    nodes: list[Any] = [key]
    for tensors in (targets, sources):
        for tensor in tensors:
            node = tensor._node
            if node is None:
                node = trace.register(tensor)
                if node is None:
                    slow(list(numbers))
                    return
            nodes.append(node)
    whole = tuple(nodes)
    position = trace.at()
    found: Update | None = position.plans.get(whole)
    if found is not None and _replay(trace, found, targets, numbers):
        return
    made = _record(trace, targets, numbers, slow)
    if made is not None:
        position.plans[whole] = made


def _replay(trace: Trace, done: Update, targets: Sequence[Any], numbers: Sequence[float]) -> bool:
    written = []
    for index, node, users in done.writes:
        target = targets[index]
        storage = target._storage
        if storage.users != users or storage.home is not target._spec or storage.foreign:
            count("ReplayRefused")
            return False
        written.append((target, storage, node))
    if done.aliases and _aliases(trace, targets) != done.aliases:
        count("ReplayRefused")
        return False
    for is_result, index in done.stale:
        each = (trace.results if is_result else trace.registered)[index]
        each._spec, each._versions, each._history  # noqa: B018  (found while pending)
        each._node = None
    end, depth, overwritten = done.end, done.end.depth, trace.overwritten
    for target, storage, node in written:
        if storage.trace is None:
            storage.trace = trace
            trace.storages.append(storage)
        overwritten[target._node.memory] = depth
        storage.node = target._node = node
        storage.users = 1
        target._versions.value += 1
    try:
        trace.scalars += [numbers[index] for index in done.order]
        trace.node = end
    except BaseException:
        trace.repair()
        raise
    return True


def _record(
    trace: Trace, targets: Sequence[Any], numbers: Sequence[float],
    slow: Callable[[list[Any]], None],
) -> Update | None:  # fmt: skip
    count("UpdateRecorded")
    start = (trace.generation, len(trace.leaves), len(trace.externals))
    results, writes = len(trace.results), len(trace.writes)
    users = [each._storage.users if has_storage(each) else -1 for each in targets]
    aliases = _aliases(trace, targets)
    sharing = trace.sharing = {}
    try:
        slow([_numbered(value, index) for index, value in enumerate(numbers)])
        order = tuple(sharing)
    finally:
        trace.sharing = None
    if start != (trace.generation, len(trace.leaves), len(trace.externals)) or -1 in users:
        return None
    places = {id(target): index for index, target in enumerate(targets)}
    sequence = list(dict.fromkeys([places.get(id(each.target)) for each in trace.writes[writes:]]))
    if None in sequence or any(target._node is None for target in targets):
        return None
    del trace.results[results:]
    end = trace.mark(("update", len(trace.scalars), *[target._node for target in targets]))
    stale = [
        (is_result, index) for is_result, index in aliases
        if (trace.results if is_result else trace.registered)[index]._node is None
    ]  # fmt: skip
    written = [(index, targets[index]._node, users[index]) for index in sequence
               if index is not None]  # fmt: skip
    return Update(end, written, order, aliases, stale)


def _numbered(value: float, index: int) -> TracedFloat:
    made = TracedFloat(value)
    made.index = index
    return made


def _aliases(trace: Trace, targets: Sequence[Any]) -> list[tuple[bool, int]]:
    """Pending tensors that look into the targets' memory without being targets."""
    storages = {id(each._storage) for each in targets if has_storage(each)}
    known = {id(each) for each in targets}
    found = []
    for is_result, tensors in ((True, trace.results), (False, trace.registered)):
        for index, each in enumerate(tensors):
            if id(each) in known or each._node is None or not has_storage(each):
                continue
            if id(each._storage) in storages:
                found.append((is_result, index))
    return found
