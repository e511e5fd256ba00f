"""Enters: a graph. Leaves: text: a Python function of one line a node, which can be run.

Invariant: equal graphs print alike, whatever the process and its hash seed, so the text of a graph
serves as its name in caches; `with_lines=False` leaves out what does not change its meaning.
"""

from __future__ import annotations

from typing import Any

from thunk.ir.graph import Graph, Node, Scalar, Value
from thunk.types.device import device
from thunk.types.dtype import dtype
from thunk.types.layout import layout, memory_format
from thunk.types.spec import TensorSpec


def print_graph(graph: Graph, name: str = "graph", with_lines: bool = True) -> str:
    """The graph as a function of its inputs and numbers."""
    names: dict[Value, str] = {value: f"a{i}" for i, value in enumerate(graph.inputs)}
    numbers = [f"s{i}" for i in range(len(graph.scalars))]
    lines = [f"def {name}({', '.join([*names.values(), *numbers])}):"]
    lines += [f"    # {names[value]}: {spell_spec(value.spec)}" for value in graph.inputs]
    lines += [f"    # s{i}: {kind.__name__}" for i, kind in enumerate(graph.scalars)]
    for node in graph.nodes:
        lines.append("    " + _line(node, names, with_lines))
    results = [names[value] for value in graph.outputs]
    lines.append(f"    return [{', '.join(results)}]")
    return "\n".join(lines) + "\n"


def _line(node: Node, names: dict[Value, str], with_lines: bool) -> str:
    start = len(names)
    for offset, value in enumerate(node.outputs):
        names[value] = f"v{start + offset}"
    targets = ", ".join(names[value] for value in node.outputs)
    comma = "," if len(node.outputs) == 1 and len(node.op.schema.returns) > 1 else ""
    overload = node.op.schema.overload or "default"
    namespace = node.op.full_name.partition("::")[0]
    split = len(node.op.schema.positional)
    args = [spell(value, names) for value in node.args[:split]]
    args += [
        f"{argument.name}={spell(value, names)}"
        for argument, value in zip(
            node.op.schema.arguments[split:], node.args[split:], strict=True
        )
    ]
    call = f"thunk.ops.{namespace}.{node.op.name}.{overload}({', '.join(args)})"
    specs = ", ".join(spell_spec(value.spec) for value in node.outputs)
    origin = " ".join(each for each in (node.scope, node.where) if each) if with_lines else ""
    return f"{targets}{comma} = {call}  # {specs}{' ' + origin if origin else ''}"


def spell(value: Any, names: dict[Value, str]) -> str:
    """One argument as Python source."""
    if isinstance(value, Value):
        return names[value]
    if isinstance(value, Scalar):
        return f"s{value.index}"
    if isinstance(value, tuple):
        return f"[{', '.join(spell(each, names) for each in value)}]"
    if isinstance(value, (dtype, layout, memory_format)):
        return repr(value).replace("torch.", "thunk.", 1)
    if isinstance(value, device):
        return f"thunk.device({str(value)!r})"
    if isinstance(value, float):
        return repr(value) if value - value == 0 else f"float({str(value)!r})"
    if isinstance(value, complex):
        return f"complex({spell(value.real, names)}, {spell(value.imag, names)})"
    return repr(value)


def spell_spec(spec: TensorSpec | None) -> str:
    """Element type and shape; strides and offset where they are not the usual ones.

    A result that an operator leaves out has none.
    """
    if spec is None:
        return "None"
    name = repr(spec.dtype).removeprefix("torch.")
    text = f"{name}[{', '.join(map(str, spec.shape))}]"
    if not spec.is_contiguous():
        text += f" strides {list(spec.strides)}"
    return f"{text} from {spec.offset}" if spec.offset else text
