"""Enters: writes to memory that values of a walk lie in. Leaves: what backward may read of them.

Invariant: a value is known by the node of its memory (`TraceNode.memory`), whichever view or name
shows it. A write is told to those who count with the counter that it was counted by; others read
what the memory holds now, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from thunk.lazy.node import LEAF, OUTPUT, TraceNode


class Write(NamedTuple):
    """One write that was recorded."""

    target: Any
    simple: bool  # whether a replay can do it again
    depth: int  # where in the walk the last of those stands that may not read the old value now


class Written(NamedTuple):
    """A write to memory that is counted by several counters."""

    counter: Any
    depth: int
    storage: Any


class Memory:
    """What happened to the memory of a walk's values."""

    def __init__(self) -> None:
        # Memory that was written to, and how deep in the walk all of its readers stand.
        self.overwritten: dict[TraceNode, int] = {}
        # The counter of memory that tensors count by several, and of names for it their own.
        self.counters: dict[TraceNode, Any] = {}
        self._writes: dict[TraceNode, list[Written]] = {}  # of such memory
        self._lives_in: dict[TraceNode, TraceNode] = {}
        self._renewed: dict[TraceNode, TraceNode] = {}

    def write(self, node: TraceNode, target: Any, depth: int) -> bool:
        """The memory of `node` is written through `target`; whether all who look at it know."""
        memory = node.memory
        if memory not in self.counters:
            self.overwritten[memory] = depth
            return True
        written = Written(target._versions, depth, target._storage)
        self._writes.setdefault(memory, []).append(written)
        return False

    @property
    def has_untold_writes(self) -> bool:
        """Whether values are read as they are now."""
        return bool(self._writes)

    def move(self, result: TraceNode, contents: TraceNode) -> None:
        """A result was written through a view: its memory is that of the new contents."""
        self._lives_in[result.memory] = contents

    def places_of(self, node: TraceNode) -> Iterator[TraceNode]:
        """The nodes whose memory holds a value: its own, and what it was written into."""
        place: TraceNode | None = node.memory
        while place is not None:
            yield place
            into = self._lives_in.get(place)
            place = None if into is None else into.memory

    def is_overwritten(self, node: TraceNode, depth: int) -> bool:
        """Whether an operation at `depth` may not read a value any more."""
        for memory in self.places_of(node):
            if self.overwritten.get(memory, -1) >= depth:
                return True
        counter = self.counter_of(node)
        return any(
            each.depth >= depth and each.counter is counter
            for each in self._writes.get(node.memory, ())
        )

    def seen_now(self, node: TraceNode, depth: int) -> Any:
        """The storage that shows another value since a write that nobody was told of, or None."""
        for each in self._writes.get(node.memory, ()):
            if each.depth >= depth:
                return each.storage
        return None

    def counter_of(self, node: TraceNode) -> Any:
        """The counter of a value, None if there is but one."""
        if not self.counters:
            return None
        memory = node.memory
        while node is not memory and node not in self.counters:
            node = node.args[0].args[0] if node.op is OUTPUT else node.args[0]
        return self.counters.get(node)

    def renew(self, node: TraceNode, changed: TraceNode) -> None:
        """A constant or a leaf is one no more, or again; what was saved of it is so, too."""
        self._renewed[node] = changed

    def present(self, node: TraceNode) -> TraceNode:
        """The node that a saved value has now."""
        while node in self._renewed:
            node = self._renewed[node]
        return node


def lies_as_it_says(node: TraceNode) -> bool:
    """Whether a node's geometry is that of its memory after the cut."""
    return node.op is LEAF or node.spec.fresh() == node.spec
