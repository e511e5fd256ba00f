"""Enters: the end of a walk and its layout. Leaves: the program that computes it, and its commit.

Invariant: a plan depends on the path and on the layout alone. A small program that runs for the
first time is interpreted; code is generated for what comes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from thunk.autograd.saved import SavedValue
from thunk.base.config import config
from thunk.ir.graph import Graph
from thunk.lazy.layout import Layout, Residual, owners_of
from thunk.lazy.metrics import count
from thunk.lazy.node import LeafFact, TraceNode, leaf_fact
from thunk.lazy.program import GraphOfPath
from thunk.lazy.record import history_from
from thunk.lazy.segment import Segment
from thunk.lazy.trace import Trace, has_history
from thunk.runtime.backend import Executable, backend_named
from thunk.runtime.storage import Bytes, Storage
from thunk.runtime.tensors import new_tensor
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import VersionCounter

# Operators that have one right result, bit for bit, whoever computes them.
EXACT = frozenset({
    "add", "sub", "rsub", "mul", "div", "neg", "abs", "sign", "sqrt", "relu", "clamp", "maximum",
    "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_not", "logical_and", "logical_or",
    "logical_xor", "bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor", "where", "fill",
    "copy", "clone", "relayout", "full", "zeros", "ones", "empty", "arange", "zeros_like",
    "ones_like", "full_like", "empty_like", "eye", "cat", "stack", "index_select", "gather",
    "_index", "_to_copy", "as_strided_scatter", "select_scatter", "slice_scatter", "masked_fill",
    "tril", "triu", "flip", "roll", "repeat", "with_history", "isnan", "isinf", "isfinite",
    "floor", "ceil", "trunc", "round",
})  # fmt: skip
SMALL_NODES = 32
SMALL_BYTES = 1 << 16


class Program:
    """A graph, interpreted once if it is small, compiled when it comes again."""

    __slots__ = ("donated", "executable", "graph", "interpreted", "runs")

    def __init__(self, graph: Graph, donated: frozenset[int]) -> None:
        self.graph = graph
        self.donated = donated
        self.runs = 0
        self.executable: Executable | None = None
        self.interpreted = config.interpret_first and _is_small(graph)

    def run(self, inputs: Sequence[Bytes], numbers: Sequence[Any]) -> list[Bytes]:
        """The outputs' memory."""
        executable = self.executable
        self.runs += 1
        if executable is None:
            if self.interpreted and self.runs == 1:
                count("Interpreted")
                return backend_named("reference").compile(self.graph, frozenset()).run(
                    inputs, numbers
                )
            count("UncachedCompile")
            backend = backend_named(config.backend)
            executable = self.executable = backend.compile(self.graph, self.donated)
        else:
            count("CachedCompile")
        return executable.run(inputs, numbers)


def _is_small(graph: Graph) -> bool:
    """Whether to interpret is quicker, and gives the bits that compiled code gives."""
    if len(graph.nodes) > SMALL_NODES:
        return False
    if not all(node.op.view or node.op.name in EXACT for node in graph.nodes):
        return False
    values = [*graph.inputs, *[each for node in graph.nodes for each in node.outputs]]
    return all(
        each.spec is None or each.spec.numel * each.spec.dtype.itemsize <= SMALL_BYTES
        for each in values
    )


class Plan:
    """How to run a cut and where its results go."""

    __slots__ = (
        "inputs", "numbers", "plain", "program", "residuals", "sharing", "storages", "stored",
        "written",
    )  # fmt: skip

    def __init__(self, trace: Trace, layout: Layout) -> None:
        wanted = layout.wanted
        owners = owners_of(trace, layout)
        outputs, residuals = _outputs(trace, layout, wanted, owners)
        built = GraphOfPath(trace.end.path(), outputs)
        self.inputs = _getter(built.inputs)
        self.numbers = _getter(built.numbers)
        self.program = Program(built.graph, frozenset())
        places = {node: at for at, node in enumerate(outputs)}
        first = len(layout.plain)
        self.plain = tuple(
            [
                (index, at, *_facts(node))
                for at, (index, node) in enumerate(layout.plain)
            ]
        )
        self.stored = tuple(
            [
                (index, first + at, node.spec) for at, (index, node) in enumerate(layout.stored)
            ]
        )
        self.sharing = layout.sharing
        self.written = layout.stored
        self.storages = len(trace.storages)
        self.residuals = tuple(
            [each._replace(output=places.get(each.node, -1)) for each in residuals]
        )

    def fits(self, trace: Trace) -> bool:
        """Whether the walk's lists hold what they held when the plan was made."""
        results, storages = trace.results, trace.storages
        if len(storages) != self.storages:
            return False
        for entry in self.plain:
            if results[entry[0]]._node is not entry[2]:
                return False
        return all(storages[index].node is node for index, node in self.written)

    def execute(self, trace: Trace) -> list[Bytes]:
        """Compute the outputs; nothing is committed yet."""
        return self.program.run(self.inputs(trace.leaves), self.numbers(trace.scalars))

    def commit(self, trace: Trace, outputs: list[Bytes]) -> None:
        """Give every tensor of the walk its values."""
        segment, results, registered = trace.segment, trace.results, trace.registered
        owners = [self._owner(trace, each) for each in self.residuals]
        for index in self.sharing:
            tensor = results[index]
            if tensor._node is not None:
                tensor._spec, tensor._versions, tensor._history  # noqa: B018  (found while pending)
                tensor._node = None
        for index, at, node, spec, plain, tracked in self.plain:
            tensor = results[index]
            if not has_history(tensor):
                if node.requires_grad:
                    tensor._origin = (segment, node)
                else:
                    tensor._history = None
            if node.inference:
                tensor._versions  # noqa: B018
            storage = Storage(outputs[at])
            storage.home, storage.plain, storage.tracked = spec, plain, tracked
            tensor._storage = storage
            tensor._spec = spec
            tensor._node = None
        for index, at, spec in self.stored:
            _receive(trace.storages[index], outputs[at], spec)
        for tensor in registered:
            tensor._node = None
            tensor._storage.forget_trace()
        for storage in (*trace.storages, *trace.known):
            storage.forget_trace()
        segment.finish({})
        for residual, owner in zip(self.residuals, owners, strict=True):
            memory = outputs[residual.output] if residual.output >= 0 else None
            segment.residuals[residual.node] = _kept(segment, residual.node, owner, memory)

    def _owner(self, trace: Trace, residual: Residual) -> Any:
        if residual.owner is None:
            return None
        name, index = residual.owner
        return (trace.registered if name == "registered" else trace.results)[index]


def _receive(storage: Storage, data: Bytes, spec: TensorSpec) -> None:
    if storage.home is None:
        storage.home = spec
    if storage.plain is None:
        storage.plain, storage.tracked = leaf_fact(storage.home, False), leaf_fact(
            storage.home, True
        )
    storage.receive(data)


def _facts(node: TraceNode) -> tuple[TraceNode, TensorSpec, LeafFact, LeafFact]:
    spec = node.spec.fresh()
    spec = node.spec if spec == node.spec else spec
    return node, spec, leaf_fact(spec, False, node.inference), leaf_fact(spec, True, node.inference)


def _getter(places: list[int]) -> Any:
    """A function from a list to its items at `places`, as a tuple."""
    if not places:
        return _nothing
    if len(places) == 1:
        place = places[0]
        return lambda values: (values[place],)
    return itemgetter(*places)


def _nothing(values: Any) -> tuple[Any, ...]:
    return ()


def _outputs(
    trace: Trace, layout: Layout, wanted: tuple[TraceNode, ...],
    owners: dict[TraceNode, tuple[str, int]],
) -> tuple[list[TraceNode], list[Residual]]:  # fmt: skip
    """The program's outputs, and who holds each residual."""
    outputs = [node for _, node in layout.plain] + [node for _, node in layout.stored]
    residuals = []
    for node in layout.residuals:
        owner = owners.get(node)
        residuals.append(Residual(node, owner, -1))
        if owner is None and node not in outputs:
            outputs.append(node)
    return outputs, residuals


def _donated(
    trace: Trace, layout: Layout, built: GraphOfPath, residuals: list[Residual]
) -> frozenset[int]:
    """Inputs whose memory becomes that of their storage's new contents."""
    kept = {each.node for each in residuals}
    overwritten = {
        id(trace.storages[index]._data) for index, _ in layout.stored
        if trace.storages[index].existed and not trace.storages[index].foreign
    }  # fmt: skip
    return frozenset(
        position for position, leaf in enumerate(built.inputs)
        if id(trace.leaves[leaf]) in overwritten and built.leaves[position] not in kept
    )  # fmt: skip


def _kept(segment: Segment, node: TraceNode, owner: Any, memory: Any) -> Any:
    """What backward reads: the memory that still holds the value, watched for writes."""
    if owner is None:
        kept = new_tensor(Storage(memory), node.spec.fresh(), VersionCounter())
    else:
        kept = new_tensor(owner._storage, owner._spec, owner._versions)
    edge = segment.edge(node)
    if edge is not None:
        kept._history = history_from(edge)
    return SavedValue(kept)
