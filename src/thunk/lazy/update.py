"""Enters: an optimizer's update of many tensors. Leaves: the same, by one step of the walk.

The update runs operator by operator the first time. Its targets get new nodes, which follow from
the place and from the nodes of all tensors that take part; numbers are inputs of the run, each one
once however many parameters it is for. Invariant: as for a single call, a replay relies only on
what it tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thunk.dispatch.state import no_grad_recording, state
from thunk.lazy.arguments import items_at
from thunk.lazy.metrics import count
from thunk.lazy.node import TraceNode
from thunk.lazy.numbers import TracedFloat
from thunk.lazy.trace import Trace, has_storage


class Update:
    """What an update did: the new node of each target, the order of numbers, and where it ended."""

    __slots__ = (
        "aliases", "end", "nodes", "order", "overwritten", "stale", "users", "written",
    )  # fmt: skip

    def __init__(
        self, end: TraceNode, written: list[int], nodes: list[TraceNode], users: list[int],
        order: tuple[int, ...], aliases: list[tuple[bool, int]], stale: list[tuple[bool, int]],
        before: Sequence[TraceNode],
    ) -> None:  # fmt: skip
        self.end = end
        self.written = items_at(written)  # the targets in the order of their writes
        self.nodes = nodes  # of what was written, in this order
        self.users = users  # how many tensors shared the memory of each target
        self.order = items_at(order)
        self.aliases = aliases  # where the walk held other views of the targets
        self.stale = stale
        self.overwritten = dict.fromkeys(before, end.depth)


def update(
    key: tuple[Any, ...], params: Sequence[Any], grads: Sequence[Any], states: Sequence[Any],
    numbers: Sequence[float], slow: Callable[[Sequence[float]], None], is_plain: Callable[[], bool],
) -> None:  # fmt: skip
    """Change `params` and `states` in place as `slow(numbers)` does, from themselves and `grads`.

    `key` holds what selects the code of `slow`, besides its tensors. `is_plain` says whether all
    that `slow` does is to write them.
    """
    trace: Trace | None = state.recorder
    nodes: list[Any] | None = None
    fresh = False
    if trace is not None and state.records:
        nodes = _nodes_of(trace, grads, _nodes_of(trace, params, [key]))
        fresh = nodes is not None and _add_facts(states, nodes)
        if not fresh:
            nodes = _nodes_of(trace, states, nodes)
    if trace is None or nodes is None:
        with no_grad_recording():
            slow(numbers)
        return
    whole = tuple(nodes)
    position = trace.at()
    found: Update | None = position.plans.get(whole)
    if found is not None and _replay(trace, found, params, states, numbers, fresh):
        return
    made = None
    if not fresh or _enter(trace, states):
        made = _record(trace, [*params, *states], numbers, slow)
    else:
        with no_grad_recording():
            slow(numbers)
    if made is not None and is_plain():
        position.plans[whole] = made


def _nodes_of(
    trace: Trace, tensors: Sequence[Any], nodes: list[Any] | None
) -> list[Any] | None:
    """Add the node of each tensor; None if one cannot be recorded."""
    if nodes is None:
        return None
    for tensor in tensors:
        node = tensor._node
        if node is None:
            node = trace.register(tensor)
            if node is None:
                return None
        nodes.append(node)
    return nodes


def _add_facts(states: Sequence[Any], nodes: list[Any]) -> bool:
    """Add what each state is if the walk met none of them yet and none is anything unusual."""
    before = len(nodes)
    for tensor in states:
        storage = tensor._storage
        if (
            tensor._node is not None or storage.node is not None or storage.foreign
            or storage.home is not tensor._spec or tensor._history is not None
        ):  # fmt: skip
            del nodes[before:]
            return False
        nodes.append(storage.plain)
    return True


def _enter(trace: Trace, states: Sequence[Any]) -> bool:
    """Make leaves of the states, each one of its own; False if they share memory."""
    leaves, registered = len(trace.leaves), len(trace.registered)
    nodes = _nodes_of(trace, states, [])
    count = len(states)
    return (
        nodes is not None and len(trace.leaves) == leaves + count
        and len(trace.registered) == registered + count
    )  # fmt: skip


def _replay(
    trace: Trace, done: Update, params: Sequence[Any], states: Sequence[Any],
    numbers: Sequence[float], fresh: bool,
) -> bool:  # fmt: skip
    """Bind the new nodes; `fresh` states are leaves from here on."""
    targets = [*params, *states]
    for target, users in zip(params if fresh else targets, done.users, strict=False):
        storage = target._storage
        if storage.users != users or storage.home is not target._spec or storage.foreign:
            count("ReplayRefused")
            return False
    written = done.written(targets)
    storages = [each._storage for each in written]
    changed = done.aliases and _aliases(trace, targets) != done.aliases
    if changed or len(set(storages)) < len(storages):
        count("ReplayRefused")
        return False
    for is_result, index in done.stale:
        each = (trace.results if is_result else trace.registered)[index]
        each._spec, each._versions, each._history  # noqa: B018  (found while pending)
        each._node = None
    counters = [each._versions for each in written]
    versions = [each.value + 1 for each in counters]
    whole = (
        [len(trace.leaves), len(trace.registered), len(trace.storages), len(trace.scalars)],
        [each._storage._data for each in states] if fresh else [],
        states if fresh else [],
        [each for each in storages if each.trace is None],
        done.order(numbers),
    )  # fmt: skip
    bindings = (written, storages, done.nodes, counters, versions)
    try:
        _bind(trace, done, whole, bindings)
    except BaseException:
        _bind(trace, done, whole, bindings)  # or half of the targets would be changed
        raise
    return True


def _bind(trace: Trace, done: Update, whole: Any, bindings: Any) -> None:
    """What a replay changes, all of it or none; doing it again changes nothing."""
    (leaves, registered, storages, scalars), memory, entered, changed, numbers = whole
    trace.leaves[leaves:] = memory
    trace.registered[registered:] = entered
    trace.storages[storages:] = changed
    for target, storage, node, counter, version in zip(*bindings, strict=True):
        storage.trace = trace
        storage.node = target._node = node
        storage.users = 1
        counter.value = version
    trace.overwritten.update(done.overwritten)
    trace.scalars[scalars:] = numbers
    trace.node = done.end


def _record(
    trace: Trace, targets: Sequence[Any], numbers: Sequence[float],
    slow: Callable[[Sequence[float]], None],
) -> Update | None:  # fmt: skip
    count("UpdateRecorded")
    start = (trace.generation, len(trace.leaves), len(trace.externals))
    results = len(trace.results)
    versions = [each._versions.value for each in targets]
    users = [each._storage.users if has_storage(each) else -1 for each in targets]
    before = [each._node.memory for each in targets if each._node is not None]
    aliases = _aliases(trace, targets)
    sharing = trace.sharing = {}
    with no_grad_recording():
        try:
            slow([_numbered(value, index) for index, value in enumerate(numbers)])
            order = tuple(sharing)
        finally:
            trace.sharing = None
        if start != (trace.generation, len(trace.leaves), len(trace.externals)) or -1 in users:
            return None
        written = _written(trace, targets, versions)
        if written is None:
            return None
        del trace.results[results:]
        trace.mark(("update", len(trace.scalars), *[target._node for target in targets]))
    end = trace.at()  # in the modes that the step was called in
    stale = [
        (is_result, index) for is_result, index in aliases
        if (trace.results if is_result else trace.registered)[index]._node is None
    ]  # fmt: skip
    nodes = [targets[index]._node for index in written]
    return Update(end, written, nodes, users, order, aliases, stale, before)


def _written(
    trace: Trace, targets: Sequence[Any], versions: Sequence[int]
) -> list[int] | None:
    """Which targets were written, in the order of the walk's storages; None if not just once."""
    written = []
    for index, (target, version) in enumerate(zip(targets, versions, strict=True)):
        times = target._versions.value - version
        if times > 1 or target._node is None:
            return None
        if times:
            written.append(index)
    order = {id(storage): place for place, storage in enumerate(trace.storages)}
    return sorted(written, key=lambda index: order[id(targets[index]._storage)])


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
