"""Enters: a graph and what becomes of its nodes. Leaves: a new graph; the old one stays as it was.

Invariant: inputs and numbers keep their positions; the order of nodes is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.ir.graph import Graph, Node, Value, replaced

Replacement = Callable[[Graph, Node, tuple[Any, ...]], tuple[Value, ...] | None]


def rebuild(graph: Graph, change: Replacement) -> Graph:
    """A copy of `graph`. `change` gets the new graph, the old node and its new arguments; it
    returns the values that stand for its results, or None to copy the node."""
    fresh = Graph()
    mapping: dict[Value, Any] = {}
    for value in graph.inputs:
        mapping[value] = fresh.add_input(value.spec)
    for kind in graph.scalars:
        fresh.add_scalar(kind)
    for node in graph.nodes:
        args = replaced(node.args, mapping)
        results = change(fresh, node, args)
        if results is None:
            specs = tuple([each.spec for each in node.outputs])
            results = fresh.add(node.op, args, specs, node.where, node.scope).outputs
        mapping.update(zip(node.outputs, results, strict=True))
    fresh.outputs = [mapping[value] for value in graph.outputs]
    return fresh
