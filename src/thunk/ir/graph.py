"""Enters: recorded operations. Leaves: `Graph`, what a cut of a trace computes.

Invariant: values are functional and nodes stand in an order in which they can run. A value that no
view operator made lies densely in memory of its own; the spec of a view says which window of that
memory, counted from its beginning, the view shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thunk.ir.opdef import OpDef
from thunk.types.spec import TensorSpec


class Value:
    """One tensor in a graph: an input, or result `index` of `node`."""

    __slots__ = ("index", "node", "spec")

    def __init__(self, spec: TensorSpec, node: Node | None = None, index: int = 0) -> None:
        self.spec = spec
        self.node = node
        self.index = index

    @property
    def root(self) -> Value:
        """The value whose memory this one shows: itself, unless a view operator made it."""
        value = self
        while value.node is not None and value.node.op.view:
            value = value.node.args[0]
        return value


class Scalar:
    """A Python number that is an input of every run: number `index`, of type `kind`."""

    __slots__ = ("index", "kind")

    def __init__(self, index: int, kind: type) -> None:
        self.index = index
        self.kind = kind


class Node:
    """One operation. `args` stand in schema order and hold values, scalars and constants.

    Lists are tuples. `where` is the user's line that recorded it, `scope` the modules around it.
    """

    __slots__ = ("args", "op", "outputs", "scope", "where")

    def __init__(
        self, op: OpDef, args: tuple[Any, ...], specs: tuple[TensorSpec, ...], where: str = "",
        scope: str = "",
    ) -> None:  # fmt: skip
        self.op = op
        self.args = args
        self.outputs = tuple([Value(spec, self, index) for index, spec in enumerate(specs)])
        self.where = where
        self.scope = scope

    @property
    def operands(self) -> list[Value]:
        """Every value among the arguments, lists included, in order."""
        return list(values_in(self.args))


class Graph:
    """What a cut computes: `outputs` from `inputs` and numbers of the types `scalars`."""

    __slots__ = ("inputs", "nodes", "outputs", "scalars")

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.scalars: list[type] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []

    def add_input(self, spec: TensorSpec) -> Value:
        value = Value(spec, None, len(self.inputs))
        self.inputs.append(value)
        return value

    def add_scalar(self, kind: type) -> Scalar:
        scalar = Scalar(len(self.scalars), kind)
        self.scalars.append(kind)
        return scalar

    def add(
        self, op: OpDef, args: tuple[Any, ...], specs: tuple[TensorSpec, ...], where: str = "",
        scope: str = "",
    ) -> Node:  # fmt: skip
        node = Node(op, args, specs, where, scope)
        self.nodes.append(node)
        return node


def values_in(args: Any) -> Iterator[Value]:
    """Every value among arguments, lists included, in order."""
    for each in args:
        if isinstance(each, Value):
            yield each
        elif isinstance(each, tuple):
            yield from values_in(each)


def scalars_in(args: Any) -> Iterator[Scalar]:
    """Every runtime number among arguments, lists included, in order."""
    for each in args:
        if isinstance(each, Scalar):
            yield each
        elif isinstance(each, tuple):
            yield from scalars_in(each)


def replaced(args: Any, mapping: dict[Value, Any]) -> Any:
    """`args` with every value looked up in `mapping`, lists included."""
    if isinstance(args, Value):
        return mapping[args]
    if isinstance(args, tuple):
        return tuple([replaced(each, mapping) for each in args])
    return args
