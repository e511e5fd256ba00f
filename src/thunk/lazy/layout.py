"""Enters: a walk at its end. Leaves: which values a cut must compute, and where each one goes.

Invariant: a layout names things by their place in the walk's lists, so it serves every walk that
ends at the same node with the same results alive.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import NamedTuple

from thunk.lazy.node import TraceNode, operands_of
from thunk.lazy.segment import reads_of
from thunk.lazy.trace import Trace, has_storage

# What `getrefcount` says of an object that only one list holds.
DEAD = next(iter(tuple(map(sys.getrefcount, [object()]))))


class Residual(NamedTuple):
    """A value that a later backward pass reads: of an owner that holds it, or an output."""

    node: TraceNode
    owner: tuple[str, int] | None  # which list of the walk, and where
    output: int


class Layout(NamedTuple):
    """What is wanted at a cut."""

    plain: tuple[tuple[int, TraceNode], ...]  # results that live and have no storage yet
    sharing: tuple[int, ...]  # results that live and look into a storage
    stored: tuple[tuple[int, TraceNode], ...]  # storages that get new contents
    residuals: tuple[TraceNode, ...]

    @property
    def wanted(self) -> tuple[TraceNode, ...]:
        """Every value that must be computed, in the order of the outputs, owners' first."""
        nodes = [node for _, node in self.plain] + [node for _, node in self.stored]
        known = set(nodes)
        return tuple(nodes + [each for each in self.residuals if each not in known])


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
    residuals = residual_nodes(trace, ends)
    return Layout(tuple(plain), tuple(sharing), tuple(stored), tuple(residuals))


def residual_nodes(trace: Trace, ends: list[TraceNode]) -> list[TraceNode]:
    """Values that a later backward pass from `ends` will read."""
    segment = trace.segment
    released = {node for node, back in segment.backward_nodes.items() if back.saved_args is None}
    for nodes in segment.released:
        released |= nodes
    stack = [node.producer for node in ends]
    stack += [node for node in segment.backward_nodes if node not in released]
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


def owners_of(trace: Trace, layout: Layout) -> dict[TraceNode, tuple[str, int]]:
    """Which tensor will hold each value after the cut, by its list and place."""
    found: dict[TraceNode, tuple[str, int]] = {}
    for index, each in enumerate(trace.registered):
        if each._node is not None:
            found[each._node] = ("registered", index)
    for index in (*[i for i, _ in layout.plain], *layout.sharing):
        each = trace.results[index]
        if each._node is not None:
            found[each._node] = ("results", index)
    return found
