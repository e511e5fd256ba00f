"""Enters: a graph. Leaves: text that Graphviz draws: a box an operation, an edge a value.

Invariant: equal graphs give equal text, whatever the process; nothing in it needs escaping twice.
"""

from __future__ import annotations

from typing import Any

from thunk.ir.graph import Graph, Node, Scalar, Value
from thunk.ir.printer import spell, spell_spec


def graph_to_dot(graph: Graph, name: str = "graph") -> str:
    """The graph in the dot language."""
    lines = [f"digraph {_quoted(name)} {{", "  node [shape=box];"]
    places: dict[Value, str] = {}
    for index, value in enumerate(graph.inputs):
        places[value] = f"in{index}"
        lines.append(f"  in{index} [shape=ellipse, label={_quoted(_input(index, value))}];")
    for index, kind in enumerate(graph.scalars):
        label = f"s{index}: {kind.__name__}"
        lines.append(f"  s{index} [shape=ellipse, style=dashed, label={_quoted(label)}];")
    for number, node in enumerate(graph.nodes):
        places.update(dict.fromkeys(node.outputs, f"n{number}"))
        lines.append(f"  n{number} [label={_quoted(_label(node))}];")
        lines += _edges(node, number, places)
    for index, value in enumerate(graph.outputs):
        lines.append(f"  out{index} [shape=ellipse, label={_quoted(f'output {index}')}];")
        lines.append(f"  {places[value]} -> out{index}{_index(value)};")
    return "\n".join([*lines, "}", ""])


def _input(index: int, value: Value) -> str:
    return f"input {index}\n{spell_spec(value.spec)}"


def _label(node: Node) -> str:
    """The operator, its constant arguments, its results, and where it was recorded."""
    lines = [node.op.full_name]
    for argument, value in zip(node.op.schema.arguments, node.args, strict=True):
        if value is not None and not _flows(value):
            lines.append(f"{argument.name}={spell(value, {})}")
    lines += [spell_spec(value.spec) for value in node.outputs if value.spec is not None]
    lines += [each for each in (node.scope, node.where) if each]
    return "\n".join(lines)


def _flows(value: Any) -> bool:
    """Whether an argument, or an element of it, comes along an edge."""
    if isinstance(value, tuple):
        return any(_flows(each) for each in value)
    return isinstance(value, (Value, Scalar))


def _edges(node: Node, number: int, places: dict[Value, str]) -> list[str]:
    found = []
    for argument, value in zip(node.op.schema.arguments, node.args, strict=True):
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Value):
                label = f"{argument.name}{f'[{each.index}]' if _several(each) else ''}"
                found.append(f"  {places[each]} -> n{number} [label={_quoted(label)}];")
            elif isinstance(each, Scalar):
                style = f"label={_quoted(argument.name)}, style=dashed"
                found.append(f"  s{each.index} -> n{number} [{style}];")
    return found


def _several(value: Value) -> bool:
    return value.node is not None and len(value.node.outputs) > 1


def _index(value: Value) -> str:
    return f" [label={_quoted(f'[{value.index}]')}]" if _several(value) else ""


def _quoted(text: str) -> str:
    """A string of the dot language."""
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{inner}"'
