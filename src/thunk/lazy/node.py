"""Enters: one recorded operation. Leaves: an immutable node of the trie.

Invariant: a node's path from the root says everything about its value: operators, operands,
attributes, modes and what the leaves are; only buffers and runtime scalars come from outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from thunk.ir.opdef import OpDef
from thunk.types.spec import TensorSpec

if TYPE_CHECKING:
    from thunk.lazy.trace import Trace

ROOT, LEAF, OUTPUT, ATTACH, KEEP_HISTORY = "root", "leaf", "output", "attach", "keep_history"


class LeafFact(NamedTuple):
    """What a materialised value tells the trace; it is the key of the leaf's edge."""

    spec: TensorSpec
    attached: bool  # whether gradients leave the trace here
    differentiable: bool


class Slot(NamedTuple):
    """A number whose value is an input of the run; the type is part of the key."""

    kind: type


class TraceNode:
    """One recorded operation, or a leaf, or one result of an operation with several."""

    __slots__ = (
        "args", "children", "depth", "external", "leaf", "op", "outputs", "parent", "plans",
        "requires_grad", "scalar_start", "spec", "trace", "where",
    )  # fmt: skip

    def __init__(self, trace: Trace, parent: TraceNode | None, op: OpDef | str,
                 args: tuple[Any, ...]) -> None:  # fmt: skip
        self.trace = trace
        self.parent = parent
        self.op = op
        self.args = args
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.spec: Any = None
        self.requires_grad = False
        self.outputs: tuple[TraceNode, ...] | None = None
        self.external = -1
        self.leaf = -1
        self.scalar_start = 0
        self.children: dict[Any, TraceNode] = {}
        self.plans: dict[Any, Any] = {}
        self.where = ""

    @property
    def producer(self) -> TraceNode:
        """The node that runs: this one, or the one this is a result of."""
        return self.args[0] if self.op == OUTPUT else self

    def path(self) -> list[TraceNode]:
        """The nodes from the root (left out) to this one."""
        found: list[TraceNode] = []
        node: TraceNode | None = self
        while node is not None and node.parent is not None:
            found.append(node)
            node = node.parent
        found.reverse()
        return found

    def __repr__(self) -> str:
        name = self.op if isinstance(self.op, str) else self.op.full_name
        return f"<{name} at {self.depth}>"


def operands_of(args: Any) -> list[TraceNode]:
    """Every node among frozen arguments, lists included."""
    found: list[TraceNode] = []
    for value in args:
        if isinstance(value, TraceNode):
            found.append(value)
        elif type(value) is tuple:
            found.extend(operands_of(value))
    return found
