"""Enters: a graph. Leaves: nothing, or `InvalidGraph` that names the node and its fault.

Invariant: a graph that passes can be run by any backend in the order of its nodes.
"""

from __future__ import annotations

from typing import Any

from thunk.ir.graph import Graph, Node, Value, scalars_in, values_in
from thunk.types.spec import TensorSpec


class InvalidGraph(AssertionError):
    """A pass or the recorder made a graph that means nothing."""


def verify(graph: Graph) -> None:
    """Check order, arity, numbers and the geometry of every value."""
    known = set(graph.inputs)
    for value in graph.inputs:
        _check(value.node is None, "an input", "expected no producer")
        _check_dense(value.spec, "an input")
    for node in graph.nodes:
        _verify_node(node, known, graph)
        known.update(node.outputs)
    for value in graph.outputs:
        _check(value in known, "an output", "expected a value of this graph")


def _verify_node(node: Node, known: set[Value], graph: Graph) -> None:
    what = f"{node.op.full_name} ({node.where})" if node.where else node.op.full_name
    expected = len(node.op.schema.arguments)
    _check(len(node.args) == expected, what, f"expected {expected} arguments")
    _check(not node.op.is_composite, what, "expected a primitive, got an operator made of others")
    _check(node.op.functional is None, what, "expected a functional operator, got a writing one")
    for value in values_in(node.args):
        _check(value in known, what, "expected an operand that was computed before")
    for scalar in scalars_in(node.args):
        _check(scalar.index < len(graph.scalars), what, "expected a number of this graph")
        _check(scalar.kind is graph.scalars[scalar.index], what, "expected the number's own type")
    _check(not _has_list(node.args), what, "expected tuples, got a list")
    for value in node.outputs:
        _check(value.node is node, what, "expected results that know their node")
        spec: TensorSpec | None = value.spec  # None is a result nobody asked for
        if not node.op.view and spec is not None:
            _check_dense(spec, what)


def _check_dense(spec: TensorSpec, what: str) -> None:
    dense = spec.offset == 0 and spec.is_non_overlapping_and_dense()
    _check(dense, what, f"expected memory without gaps, got {spec}")


def _has_list(args: Any) -> bool:
    return any(isinstance(a, list) or (isinstance(a, tuple) and _has_list(a)) for a in args)


def _check(holds: bool, what: str, complaint: str) -> None:
    if not holds:
        raise InvalidGraph(f"{what}: {complaint}")
