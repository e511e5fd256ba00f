"""Enters: a walk that gradients may still enter. Leaves: its backward nodes, cut or not.

Invariant: a formula reads the same value whether the walk is pending or was cut; after the cut a
segment holds exactly the values that its formulas name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thunk.autograd.edges import leaf_edge
from thunk.autograd.meta import Edge, History
from thunk.autograd.node import STEP, next_sequence
from thunk.autograd.record import OpNode
from thunk.autograd.saved import FREED, overwritten_message
from thunk.ir.opdef import OpDef
from thunk.lazy.constant import thaw_constant
from thunk.lazy.memory import Memory
from thunk.lazy.node import ATTACH, OUTPUT, Slot, TraceNode, operands_of
from thunk.lazy.numbers import traced, watch
from thunk.ops.copy import copying as _declares_with_history  # noqa: F401
from thunk.ops.registry import find_op
from thunk.runtime.tensors import new_tensor
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase

if TYPE_CHECKING:
    from thunk.lazy.trace import Trace

_with_history = find_op("aten::with_history")


class Segment:
    """One walk as autograd sees it."""

    def __init__(self, trace: Trace) -> None:
        self.trace: Trace | None = trace
        self.sequence = next_sequence()
        self._made = 0  # nodes that the engine made meanwhile
        self.backward_nodes: dict[TraceNode, TraceBackward] = {}
        self.residuals: dict[TraceNode, Any] = {}
        self.memory = Memory()
        self.freed = False  # whether something was, by a pass that nobody remembers
        self.externals: list[Any] = []
        self.scalars: list[Any] = []
        self.end: TraceNode | None = None  # of the walk, once it was cut
        self.released: list[frozenset[TraceNode]] = []  # by backward passes that were replayed

    def now(self) -> int:
        """A number of a node that is made at once: between what is recorded before and after."""
        self._made += 1
        depth = 0 if self.trace is None else self.trace.end.depth
        return self.sequence + depth * STEP + self._made

    def backward(self, node: TraceNode) -> TraceBackward:
        """The backward step of a recorded operation."""
        producer = node.producer
        found = self.backward_nodes.get(producer)
        if found is None:
            kind = WriteBackward if producer.is_copy_of_slices else TraceBackward
            found = self.backward_nodes[producer] = kind(self, producer)
            if any(producer in released for released in self.released):
                found.free()
        return found

    @property
    def needs_engine(self) -> bool:
        """Whether a pass does what the place in the walk does not tell."""
        if self.freed or self.memory.has_untold_writes:
            return True
        nodes = self.backward_nodes
        return bool(nodes) and any(each.is_watched for each in nodes.values())

    def release(self, nodes: frozenset[TraceNode]) -> None:
        """A pass that was remembered freed what these nodes saved."""
        self.released.append(nodes)
        for node, back in self.backward_nodes.items():
            if node in nodes:
                back.free()

    def edge(self, node: TraceNode) -> Edge | None:
        """Where the gradient of `node`'s value flows."""
        if not node.requires_grad:
            return None
        if node.external >= 0:
            return self._leaving(node.external)
        if node.op is ATTACH:
            return None
        index = node.args[1] if node.op is OUTPUT else 0
        return Edge(self.backward(node), index)

    def is_edge(self, edge: Edge | None, node: TraceNode) -> bool:
        """Whether `edge` is where the gradient of `node`'s value flows; makes no backward step."""
        while not self._leads_to(edge, node):
            if node.op is not _with_history:  # which hands its gradient on as it is
                return False
            node = node.args[1]
        return True

    def _leads_to(self, edge: Edge | None, node: TraceNode) -> bool:
        if edge is None or node.external >= 0 or node.op is ATTACH:
            return edge == self.edge(node)
        back = edge.node
        index = node.args[1] if node.op is OUTPUT else 0
        return (
            isinstance(back, TraceBackward) and back.segment is self
            and back.recorded is node.producer and edge.index == index
        )  # fmt: skip

    @property
    def exits(self) -> list[Any]:
        """What gradients leave the walk for."""
        return self.externals if self.trace is None else self.trace.externals

    @property
    def numbers(self) -> list[Any]:
        """The runtime scalars of the walk."""
        return self.scalars if self.trace is None else self.trace.scalars

    def _leaving(self, index: int) -> Edge | None:
        """The edge of a gradient that leaves the walk; a leaf's is made when it is needed."""
        externals = self.exits
        found = externals[index]
        if isinstance(found, TensorBase):
            found = externals[index] = leaf_edge(found)
        edge: Edge | None = found
        return edge

    def number(self, index: int) -> Any:
        """A runtime scalar of the walk."""
        return traced(self.numbers[index], index)

    def value(self, reader: TraceBackward, node: TraceNode) -> Any:
        """The tensor that a formula of `reader` reads for `node`."""
        depth = reader.recorded.depth
        if self.memory.is_overwritten(node, depth):
            where = f", which {reader.name()} reads, was written to after it"
            raise RuntimeError(overwritten_message(where, node.spec))
        storage = self.memory.seen_now(node, depth)
        if storage is not None:
            return self._as_now(node, storage)
        if self.trace is not None:
            return self.trace.wrap(self.memory.present(node))
        kept = self.residuals.get(node)
        if kept is None:
            raise RuntimeError(FREED)
        return kept.unpack(reader)

    def history(self, node: TraceNode) -> History | None:
        """The history of a tensor that shows the value of `node`."""
        edge = self.edge(node)
        return None if edge is None else history_from(edge)

    def _as_now(self, node: TraceNode, storage: Any) -> Any:
        seen = new_tensor(storage, node.spec)
        seen._history = self.history(node)
        return seen

    def finish(self, residuals: dict[TraceNode, Any]) -> None:
        """The walk was cut: keep what is still needed of it."""
        assert self.trace is not None
        self.externals = self.trace.externals
        self.scalars = self.trace.scalars
        self.end = self.trace.end
        self.residuals = residuals
        self.trace = None


def history_from(edge: Edge) -> History:
    """A history whose producer is `edge`."""
    history = History()
    history.requires_grad = True
    history.grad_fn, history.output_index = edge
    return history


class TraceBackward(OpNode):
    """The backward step of a trie node; made when somebody asks, never on the way forward."""

    __slots__ = ("_edges", "recorded", "segment")

    def __init__(self, segment: Segment, node: TraceNode) -> None:
        self.segment = segment
        self.recorded = node
        assert isinstance(node.op, OpDef)
        self.op = node.op
        self.slots: dict[str, tuple[int, int | None]] = {}
        self.input_specs: list[TensorSpec | None] = []
        for argument, value in zip(self.op.schema.arguments, node.args, strict=True):
            if isinstance(value, TraceNode):
                self.slots[argument.name] = (len(self.input_specs), None)
                self.input_specs.append(value.spec)
            elif type(value) is tuple and operands_of(value):
                self.slots[argument.name] = (len(self.input_specs), len(value))
                self.input_specs += [
                    each.spec if isinstance(each, TraceNode) else None for each in value
                ]
        self._prepare(_specs_of(node), segment.sequence + node.depth * STEP)
        self._edges: Any = None
        self.saved_args = _SavedArguments(self)
        results: list[Any] = [_SavedResult(self, each) for each in node.outputs or (node,)]
        self.saved_results = results

    @property
    def edges(self) -> tuple[Edge | None, ...]:  # type: ignore[override]  # found when asked
        if self._edges is None:
            found: list[Edge | None] = []
            for value in self.recorded.args:
                if isinstance(value, TraceNode):
                    found.append(self.segment.edge(value))
                elif type(value) is tuple and operands_of(value):
                    found += [
                        self.segment.edge(each) if isinstance(each, TraceNode) else None
                        for each in value
                    ]
            self._edges = tuple(found)
        result: tuple[Edge | None, ...] = self._edges
        return result

    def release(self) -> None:
        # As in PyTorch, a write through a view is differentiated once, whatever it saved.
        if keeps_values(self.recorded) or self.recorded.is_copy_of_slices:
            self.free()
            if watch.read is None:
                self.segment.freed = True

    def free(self) -> None:
        """From here on the formulas have nothing to read."""
        self.saved_args = None
        self.saved_results = None


class WriteBackward(TraceBackward):
    """The backward step of a write through a view."""

    __slots__ = ()

    def name(self) -> str:
        return "torch::autograd::CopySlices"


class _SavedResult:
    def __init__(self, reader: TraceBackward, node: TraceNode) -> None:
        self._reader = reader
        self._node = node

    def unpack(self, reader: Any) -> Any:
        return self._reader.segment.value(self._reader, self._node)


class _SavedArguments(dict[str, Any]):
    """Looks like what `OpNode` saved, and finds each value when it is read."""

    def __init__(self, reader: TraceBackward) -> None:
        self._reader = reader
        self._places = {
            argument.name: index for index, argument in enumerate(reader.op.schema.arguments)
        }

    def __contains__(self, name: object) -> bool:
        text = str(name)
        return text in self._places or text.removesuffix("_spec") in self._places

    def __getitem__(self, name: str) -> Any:
        node = self._reader.recorded
        if name not in self._places:
            return _specs_in(node.args[self._places[name.removesuffix("_spec")]])
        position = self._places[name]
        value = node.args[position]
        if isinstance(value, Slot):
            skipped = sum(isinstance(each, Slot) for each in node.args[:position])
            return self._reader.segment.number(node.scalars[skipped])
        return self._thaw(value)

    def _thaw(self, value: Any) -> Any:
        if isinstance(value, TraceNode):
            return self._reader.segment.value(self._reader, value)
        if type(value) is tuple and operands_of(value):
            return [self._thaw(each) for each in value]
        return thaw_constant(value)


def _specs_of(node: TraceNode) -> list[TensorSpec]:
    return [each.spec for each in node.outputs] if node.outputs is not None else [node.spec]


def _specs_in(value: Any) -> Any:
    if isinstance(value, TraceNode):
        return value.spec
    if type(value) is tuple:
        return tuple([_specs_in(each) for each in value])
    return thaw_constant(value)


def reads_of(node: TraceNode) -> list[TraceNode]:
    """The values that the formulas of `node` will read, given which operands need gradients."""
    arguments = _arguments(node)
    found: list[TraceNode] = []
    outputs = node.outputs or (node,)
    for name in _names_read(node, arguments):
        if name in arguments:
            found += operands_of((arguments[name],))
        elif name == "results":
            found += outputs
        elif name.startswith("result") and not name.startswith("result_spec"):
            found.append(outputs[int(name[6:] or 0)])
    return found


def keeps_values(node: TraceNode) -> bool:
    """Whether a pass frees something; a number in the place of a tensor counts, as in PyTorch."""
    arguments = _arguments(node)
    names = set(_names_read(node, arguments))
    numbers = any(
        argument.type.base == "Tensor" and argument.name in names
        and arguments[argument.name] is not None
        for argument in (node.op.schema.arguments if isinstance(node.op, OpDef) else ())
    )  # fmt: skip
    return numbers or bool(reads_of(node))


def _arguments(node: TraceNode) -> dict[str, Any]:
    if not isinstance(node.op, OpDef):
        return {}
    names = [each.name for each in node.op.schema.arguments]
    return dict(zip(names, node.args, strict=True))


def _names_read(node: TraceNode, arguments: dict[str, Any]) -> list[str]:
    """What the formulas that will run read, by the names of their parameters."""
    op = node.op
    found: list[str] = []
    if not isinstance(op, OpDef) or not isinstance(op.gradient, tuple):
        return found
    for rule in op.gradient:
        operands = operands_of([arguments.get(name) for name in rule.inputs])
        if any(each.requires_grad for each in operands):
            found += rule.reads
    return found
