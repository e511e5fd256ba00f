"""Enters: the path of a walk, and the nodes that are wanted. Leaves: a graph that computes them.

Invariant: the graph depends on the path and on the wanted nodes alone; a run is given the walk's
buffers and numbers at the places that `inputs` and `numbers` list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from thunk.ir.graph import Graph, Value
from thunk.ir.opdef import OpDef
from thunk.lazy.constant import thaw_constant
from thunk.lazy.node import ATTACH, LEAF, Slot, TraceNode, operands_of
from thunk.types.device import CPU, device
from thunk.types.dtype import dtype
from thunk.types.spec import TensorSpec


def needed_for(wanted: Iterable[TraceNode]) -> set[TraceNode]:
    """The producers that must run for `wanted`."""
    needed: set[TraceNode] = set()
    stack = [each.producer for each in wanted]
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack += [each.producer for each in operands_of(node.args)]
    return needed


def on_cpu(spec: Any) -> Any:
    """The spec for a program: lazy devices are names for the processor."""
    if spec is None or spec.device.type != "lazy":
        return spec
    return TensorSpec(spec.shape, spec.dtype, spec.strides, spec.offset, CPU)


class Guard(NamedTuple):
    """A number that must fit the dtype that it becomes."""

    place: int  # among the numbers of the graph
    dtype: dtype
    op: str
    where: str


class GraphOfPath:
    """Builds the graph of one cut."""

    def __init__(self, path: Sequence[TraceNode], wanted: Sequence[TraceNode]) -> None:
        self.graph = Graph()
        self.inputs: list[int] = []  # which leaf of the walk each input is
        self.leaves: list[TraceNode] = []
        self.numbers: list[int] = []  # which number of the walk each scalar is
        self.guards: list[Guard] = []
        self._values: dict[TraceNode, Value] = {}
        needed = needed_for(wanted)
        for node in path:
            if node in needed:
                self._add(node)
        self.graph.outputs = [self._values[node] for node in wanted]

    def _add(self, node: TraceNode) -> None:
        if node.op == LEAF:
            self.inputs.append(node.leaf)
            self.leaves.append(node)
            self._values[node] = self.graph.add_input(on_cpu(node.spec))
        elif node.op == ATTACH:
            self._values[node] = self._values[node.args[0]]
        else:
            assert isinstance(node.op, OpDef)
            numbers = iter(node.scalars)
            args = tuple([self._argument(value, numbers) for value in node.args])
            first = len(self.numbers) - len(node.scalars)
            self.guards += [Guard(first + slot, element, node.op.name, node.where)
                            for slot, element in node.guards]  # fmt: skip
            outputs = node.outputs or (node,)
            made = self.graph.add(
                node.op, args, tuple([on_cpu(each.spec) for each in outputs]), node.where,
                node.scope,
            )  # fmt: skip
            self._values.update(zip(outputs, made.outputs, strict=True))

    def _argument(self, value: Any, numbers: Any) -> Any:
        if isinstance(value, TraceNode):
            return self._values[value]
        if isinstance(value, Slot):
            self.numbers.append(next(numbers))
            return self.graph.add_scalar(value.kind)
        if type(value) is tuple:
            return tuple([self._argument(each, numbers) for each in value])
        if type(value) is device:
            return CPU if value.type == "lazy" else value
        return thaw_constant(value)
