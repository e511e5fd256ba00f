"""Enters: a graph. Leaves: the graph without nodes that no output depends on.

Invariant: operators that may raise on their data stay, for their errors are part of the program.
"""

from __future__ import annotations

from thunk.ir.graph import Graph, Value


def drop_dead(graph: Graph) -> Graph:
    """The graph with only what is needed; inputs and numbers keep their positions."""
    needed: set[Value] = set(graph.outputs)
    kept = []
    for node in reversed(graph.nodes):
        if node.op.raises_on_data or any(value in needed for value in node.outputs):
            kept.append(node)
            needed.update(node.operands)
    if len(kept) == len(graph.nodes):
        return graph
    fresh = Graph()
    fresh.inputs, fresh.scalars = graph.inputs, graph.scalars
    fresh.outputs = graph.outputs
    fresh.nodes = kept[::-1]
    return fresh
