"""Enters: one recorded operation. Leaves: an immutable node of the trie.

Invariant: a node's path from the root says everything about its value: operators, operands,
attributes, modes and what the leaves are; only buffers and runtime scalars come from outside. The
node also says how long every list of the walk is that leads to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from thunk.ir.opdef import OpDef
from thunk.types.dtype import dtype
from thunk.types.spec import TensorSpec

if TYPE_CHECKING:
    from thunk.lazy.trace import Trace

# Nodes that are no operators. A MARK has no value: it says that something happened here.
ROOT, LEAF, OUTPUT, ATTACH, MARK = "root", "leaf", "output", "attach", "mark"

# What stands in the args of the MARK before the new contents of a base written through a view.
THROUGH_VIEW = "through a view"


class LeafFact:
    """What a materialised value tells the trace. Interned: its identity is the key of its edge."""

    __slots__ = ("differentiable", "inference", "spec")

    def __init__(self, spec: TensorSpec, differentiable: bool, inference: bool) -> None:
        self.spec = spec
        self.differentiable = differentiable
        self.inference = inference


_facts: dict[tuple[TensorSpec, bool, bool], LeafFact] = {}


def leaf_fact(spec: TensorSpec, differentiable: bool, inference: bool = False) -> LeafFact:
    """The one fact of these properties."""
    key = (spec, differentiable, inference)
    found = _facts.get(key)
    if found is None:
        found = _facts.setdefault(key, LeafFact(*key))
    return found


class Slot(NamedTuple):
    """A number whose value is an input of the run; the type is part of the key."""

    kind: type


class TraceNode:
    """One recorded operation, or a leaf, or one result of an operation with several."""

    __slots__ = (
        "args", "children", "counts", "depth", "external", "guards", "inference", "leaf",
        "memory", "nbytes", "op", "outputs", "parent", "places", "plans", "recording", "released",
        "replay", "requires_grad", "scalars", "scope", "spec", "trace", "where",
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
        # The node whose value lies in the same memory: this one, unless it is a view or a name.
        self.memory: TraceNode = self
        self.external = -1
        self.leaf = -1
        self.scalars: tuple[int, ...] = ()  # which number of the walk each slot is
        self.guards: tuple[tuple[int, dtype], ...] = ()  # which slots must fit which dtypes
        self.children: dict[Any, TraceNode] = {}
        self.plans: dict[Any, Any] = {}
        self.places: dict[Any, Any] | None = None  # where calls that look into leaves looked first
        self.replay: Any = None  # what a hit does besides going on; None: one plain result
        self.released: frozenset[TraceNode] = frozenset()  # whose saved values a backward freed
        self.counts: tuple[int, int, int, int] = (0, 0, 0, 0)
        self.nbytes: int = 0 if parent is None else parent.nbytes
        self.inference = False  # the modes that it was recorded in
        self.recording = True
        self.where = ""
        self.scope = ""

    @property
    def producer(self) -> TraceNode:
        """The node that runs: this one, or the one this is a result of."""
        return self.args[0] if self.op is OUTPUT else self

    @property
    def is_copy_of_slices(self) -> bool:
        """Whether this is what a write through a view made of its base."""
        parent = self.parent
        return parent is not None and parent.op is MARK and parent.args == (THROUGH_VIEW,)

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


def count_below(root: TraceNode) -> int:
    """How many nodes a trie has from `root` on, but for results of operators with several."""
    seen = {root}
    pending = [root]
    while pending:
        below = [each for each in pending.pop().children.values() if each not in seen]
        seen.update(below)
        pending += below
    return len(seen)


def operands_of(args: Any) -> list[TraceNode]:
    """Every node among frozen arguments, lists included."""
    found: list[TraceNode] = []
    for value in args:
        if isinstance(value, TraceNode):
            found.append(value)
        elif type(value) is tuple:
            found.extend(operands_of(value))
    return found


class Detour:
    """Where a walk stands while its modes are not known: nothing was ever recorded here."""

    __slots__ = ("children",)

    def __init__(self) -> None:
        self.children: dict[Any, TraceNode] = {}
