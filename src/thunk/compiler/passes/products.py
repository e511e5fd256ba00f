"""Enters: a graph. Leaves: the graph with products computed in the layout in which they are read.

Invariant: t(a @ b) becomes t(b) @ t(a) where nobody reads a @ b itself; the same sums are formed.
"""

from __future__ import annotations

from typing import Any

from thunk.compiler.passes.rewriting import rebuild
from thunk.ir.graph import Graph, Node, Value
from thunk.ops.registry import find_op


def turn_products(graph: Graph) -> Graph:
    """Products that are only read transposed are computed transposed."""
    readers: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        for value in node.operands:
            readers.setdefault(value, []).append(node)
    outputs = set(graph.outputs)
    turned: set[Value] = set()
    for node in graph.nodes:
        if node.op.full_name != "aten::mm" or node.outputs[0] in outputs:
            continue
        users = readers.get(node.outputs[0], [])
        if users and all(is_turn(user) and user.outputs[0] not in outputs for user in users):
            turned.add(node.outputs[0])
    if not turned:
        return graph
    turn = find_op("aten::t")
    assert turn is not None

    def view(fresh: Graph, value: Value, node: Node) -> Value:
        spec = value.spec
        window = spec.window(spec.shape[::-1], spec.strides[::-1])
        return fresh.add(turn, (value,), (window,), node.where, node.scope).outputs[0]

    def change(fresh: Graph, node: Node, args: tuple[Any, ...]) -> tuple[Value, ...] | None:
        if node.outputs[0] in turned:
            left, right = (view(fresh, each, node) for each in args)
            spec = node.outputs[0].spec
            swapped = spec.with_shape(spec.shape[::-1])
            return fresh.add(node.op, (right, left), (swapped,), node.where, node.scope).outputs
        if is_turn(node) and node.args[0] in turned:
            return (args[0],)
        return None

    return rebuild(graph, change)


def is_turn(node: Node) -> bool:
    """Whether a node shows a matrix transposed."""
    if not node.op.view or len(node.outputs[0].spec.shape) != 2:
        return False
    spec, source = node.outputs[0].spec, node.args[0].spec
    turned = source.shape[::-1], source.strides[::-1], source.offset, source.dtype
    return (spec.shape, spec.strides, spec.offset, spec.dtype) == turned and spec != source
