"""Enters: a graph. Leaves: the graph with equal operations on equal operands computed once.

Invariant: random operators are never shared; constants are equal if type and bits are.
"""

from __future__ import annotations

from typing import Any

from thunk.compiler.passes.rewriting import rebuild
from thunk.ir.graph import Graph, Node, Scalar, Value


def share_common(graph: Graph) -> Graph:
    """One node for each operation on each operands."""
    known: dict[Any, tuple[Value, ...]] = {}

    def change(fresh: Graph, node: Node, args: tuple[Any, ...]) -> tuple[Value, ...]:
        specs = tuple([each.spec for each in node.outputs])
        key = (node.op, _key(args), specs)
        found = None if node.op.random else known.get(key)
        if found is None:
            found = fresh.add(node.op, args, specs, node.where, node.scope).outputs
            known[key] = found
        return found

    return rebuild(graph, change)


def _key(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_key(each) for each in value])
    if isinstance(value, Scalar):
        return (Scalar, value.index)
    if isinstance(value, (bool, int, float, complex)):
        return (type(value), repr(value))
    return value
