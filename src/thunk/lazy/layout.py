"""Enters: a walk at its end. Leaves: which values a cut must compute, and where each one goes.

Invariant: a layout names things by their place in the walk's lists, so it serves every walk that
ends at the same node with the same results alive.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from thunk.lazy.memory import lies_as_it_says
from thunk.lazy.node import TraceNode, operands_of
from thunk.lazy.segment import reads_of
from thunk.lazy.trace import Trace, has_storage

# What `getrefcount` says of an object that only one list holds.
DEAD = next(iter(tuple(map(sys.getrefcount, [object()]))))


HOLDS, SHOWS, COUNTS = "holds", "shows", "counts"
RESULTS, REGISTERED, FOREIGN = range(3)  # the lists of a walk that tensors stand in
Lists = tuple[list[Any], list[Any], list[tuple[Any, TraceNode]]]


class Owner(NamedTuple):
    """A tensor that tells of a residual: it holds it, its memory shows it, or it counts writes."""

    kind: str
    among: int
    place: int
    start: int = 0  # where the tensor begins, as the walk counts

    def of(self, lists: Lists) -> Any:
        """The tensor, in a walk's lists."""
        found: Any = lists[self.among][self.place]
        return found[0] if self.among == FOREIGN else found


class Residual(NamedTuple):
    """A value that a later backward pass reads: of an owner that shows it, or an output."""

    node: TraceNode
    owner: Owner | None
    present: TraceNode  # the node that the value has now that flags may have changed
    output: int = -1

    @property
    def needs_output(self) -> bool:
        """Whether no tensor's memory shows it."""
        return self.owner is None or self.owner.kind is COUNTS

    def fits(self, lists: Lists) -> bool:
        """Whether the owner of a walk is what it was when the plan was made."""
        owner = self.owner
        if owner is None:
            return True
        tensors: list[Any] = lists[owner.among]
        if owner.place >= len(tensors):
            return False
        if owner.among == FOREIGN:
            read: TraceNode = tensors[owner.place][1]
            return read.memory is self.node.memory and read.spec.offset == owner.start
        node: Any = tensors[owner.place]._node
        if node is None or owner.kind is COUNTS:
            return node is not None
        if owner.kind is HOLDS:
            return node is self.present
        return node.memory is self.node.memory and node.spec.offset == owner.start


class Layout(NamedTuple):
    """What is wanted at a cut."""

    plain: tuple[tuple[int, TraceNode], ...]  # results that live and have no storage yet
    sharing: tuple[int, ...]  # results that live and look into a storage
    stored: tuple[tuple[int, TraceNode], ...]  # storages that get new contents
    residuals: tuple[Residual, ...]


def layout_of(trace: Trace) -> Layout:
    """The layout of a walk as it is now."""
    counts = tuple(map(sys.getrefcount, trace.results))
    alive = [(i, each) for i, each in enumerate(trace.results) if counts[i] > DEAD]
    plain = [(i, each._node) for i, each in alive
             if each._node is not None and not has_storage(each)]  # fmt: skip
    sharing = [i for i, each in alive if has_storage(each)]
    dead = [each for i, each in enumerate(trace.results) if counts[i] <= DEAD]
    holders = tuple(map(sys.getrefcount, trace.storages))
    ghosts = Counter([id(each._storage) for each in dead if has_storage(each)])
    stored = [
        (index, storage.node) for index, storage in enumerate(trace.storages)
        if storage.trace is trace
        and (storage.existed or holders[index] > DEAD + ghosts[id(storage)])
    ]  # fmt: skip
    ends = [node for _, node in (*plain, *stored)]
    ends += [each._node for _, each in alive if each._node is not None]
    nodes = residual_nodes(trace, ends)
    residuals = _with_owners(trace, nodes, [i for i, _ in plain] + sharing) if nodes else []
    return Layout(tuple(plain), tuple(sharing), tuple(stored), tuple(residuals))


def residual_nodes(trace: Trace, ends: list[TraceNode]) -> list[TraceNode]:
    """Values that a later backward pass from `ends` will read."""
    segment = trace.segment
    released = {node for node, back in segment.backward_nodes.items() if back.saved_args is None}
    for nodes in segment.released:
        released |= nodes
    stack = [node.producer for node in ends]
    stack += [node for node in segment.backward_nodes if node not in released]
    return values_read(trace, stack, released)


def values_read(
    trace: Trace, stack: list[TraceNode], released: Collection[TraceNode] = ()
) -> list[TraceNode]:
    """What backward passes from these operations read, but for what `released` ones would."""
    seen: set[TraceNode] = set()
    found: dict[TraceNode, None] = {}
    while stack:
        node = stack.pop()
        if node in seen or node.trace is not trace:
            continue
        seen.add(node)
        outputs = node.outputs or (node,)
        if not any(each.requires_grad for each in outputs) or node.external >= 0:
            continue
        if node not in released:
            found.update(dict.fromkeys(reads_of(node)))
        stack += [each.producer for each in operands_of(node.args)]
    return list(found)


def values_nobody_reads(
    path: Sequence[TraceNode], released: Collection[TraceNode]
) -> list[TraceNode]:
    """What released operations of a walk read and no other does."""
    found: dict[TraceNode, None] = {}
    for node in path:
        if node in released:
            found.update(dict.fromkeys(reads_of(node)))
    for node in path:
        if node not in released and any(each.requires_grad for each in node.outputs or (node,)):
            for each in reads_of(node):
                found.pop(each, None)
    return list(found)


def _with_owners(trace: Trace, nodes: list[TraceNode], alive: list[int]) -> list[Residual]:
    """Which tensor will tell of each value after the cut."""
    holders: dict[TraceNode, tuple[int, int]] = {}
    showing: dict[TraceNode, tuple[int, int, int]] = {}
    places = [(RESULTS, index, trace.results[index]) for index in alive]
    places += [(REGISTERED, index, each) for index, each in enumerate(trace.registered)]
    for among, index, tensor in places:
        held: TraceNode | None = tensor._node
        if held is not None:
            holders.setdefault(held, (among, index))
            if has_storage(tensor) or held.memory is held:  # others get memory of their own
                showing.setdefault(held.memory, (among, index, held.spec.offset))
    for index, (_, read) in enumerate(trace.foreign):
        showing.setdefault(read.memory, (FOREIGN, index, read.spec.offset))
    present = trace.segment.memory.present
    return [Residual(node, _owner(trace, node, holders, showing), present(node)) for node in nodes]


def _owner(
    trace: Trace, node: TraceNode, holders: dict[TraceNode, tuple[int, int]],
    showing: dict[TraceNode, tuple[int, int, int]],
) -> Owner | None:  # fmt: skip
    held = trace.segment.memory.present(node)
    if held in holders:
        return Owner(HOLDS, *holders[held])
    if node.memory in showing and lies_as_it_says(node.memory):
        return Owner(SHOWS, *showing[node.memory])
    for memory in trace.segment.memory.places_of(node):
        if memory in showing:
            return Owner(COUNTS, *showing[memory])
    return None
