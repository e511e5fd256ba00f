"""Enters: tensors, pending or not. Leaves: the graph that computes them, its inputs, and its runs.

Invariant: a graph's hash says what is computed from what inputs, numbers included; a graph that was
asked for its hash can be run again by it as long as the cache keeps it.
"""

from __future__ import annotations

import hashlib
import itertools
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from thunk.base.config import config
from thunk.ir.graph import Graph
from thunk.lazy.cache import Cache, bits_of
from thunk.lazy.compiled import Computation, computation_of
from thunk.lazy.node import TraceNode
from thunk.lazy.program import GraphOfPath
from thunk.lazy.run import inflight
from thunk.lazy.trace import Trace, traces
from thunk.runtime.storage import Bytes, Storage
from thunk.runtime.tensors import new_tensor
from thunk.types.tensor_base import TensorBase


class Piece(NamedTuple):
    """What computes some tensors: a graph and what goes into it now."""

    graph: Graph
    inputs: tuple[Bytes, ...]
    numbers: tuple[Any, ...]

    @property
    def name(self) -> str:
        """A name for what is computed, the numbers included."""
        text = f"{computation_of(self.graph, {}).name} {[bits_of(each) for each in self.numbers]}"
        return hashlib.sha256(text.encode()).hexdigest()


def piece_of(tensors: Iterable[Any]) -> Piece:
    """The part of this thread's walk that computes `tensors`, in their order, each once."""
    trace = traces.current
    wanted: dict[TraceNode, None] = {}
    for tensor in tensors:
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"expected tensors, got {type(tensor).__name__}")
        wanted[trace.node_of(tensor, False)] = None
    return piece_of_nodes(trace, list(wanted))


def piece_of_nodes(trace: Trace, wanted: Sequence[TraceNode]) -> Piece:
    """The part of a walk that computes the values of some nodes."""
    built = GraphOfPath(trace.end.path(), wanted)
    return Piece(
        built.graph, tuple([trace.leaves[place] for place in built.inputs]),
        tuple([trace.scalars[place] for place in built.numbers]),
    )  # fmt: skip


_numbers: Final = itertools.count(1)
_ids: Final[dict[int, tuple[weakref.ref[Any], int]]] = {}


def get_tensor_id(tensor: Any) -> int:
    """A number that no other tensor of the process has or had."""
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"get_tensor_id: expected a tensor, got {type(tensor).__name__}")
    key = id(tensor)
    known = _ids.get(key)
    if known is None or known[0]() is not tensor:
        reference = weakref.ref(tensor, lambda gone: _forget(key, gone))
        known = _ids[key] = (reference, next(_numbers))
    return known[1]


def _forget(key: int, gone: weakref.ref[Any]) -> None:
    known = _ids.get(key)
    if known is not None and known[0] is gone:
        del _ids[key]


def get_tensors_device_data_node(tensors: Sequence[Any]) -> tuple[list[int], list[Any]]:
    """The ids and the tensors of the data that goes into the graph of `tensors`."""
    piece = piece_of(tensors)
    found = [
        tensor_of(data, value.spec)
        for data, value in zip(piece.inputs, piece.graph.inputs, strict=True)
    ]
    return [get_tensor_id(each) for each in found], found


get_tensors_ts_device_data_node = get_tensors_device_data_node


def tensor_of(data: Bytes, spec: Any) -> Any:
    """The user's tensor over this memory, or a new one."""
    trace = traces.current
    for tensor in trace.registered:
        if tensor._storage._data is data and tensor._spec == spec:
            return tensor
    return new_tensor(Storage(data), spec)


# What ran or may run again by its hash.
_pieces: Final[Cache[str, tuple[Computation, tuple[Any, ...]]]] = Cache(
    lambda: config.lazy_compilation_cache_size
)


def get_graph_hash(tensors: Sequence[Any]) -> str:
    """A name for what computes `tensors`; `run_cached_graph` runs it by this name."""
    piece = piece_of(tensors)
    name = piece.name
    if name not in _pieces:
        _pieces.put(name, (computation_of(piece.graph, {}), piece.numbers))
    return name


def run_cached_graph(hash_str: str, graph_inputs: Sequence[Any]) -> list[Any]:
    """The results of a graph on other inputs, which are laid out as the first ones were."""
    found = _pieces.get(hash_str)
    if found is None:
        raise RuntimeError(
            f"run_cached_graph: Failed to get a computation by the hash {hash_str}; ask "
            "get_graph_hash for it first, and keep the cache large enough"
        )
    computation, numbers = found
    return run_on(computation, graph_inputs, numbers)


def run_on(computation: Computation, inputs: Sequence[Any], numbers: Sequence[Any]) -> list[Any]:
    """Run a computation on tensors."""
    graph = computation.graph
    if len(inputs) != len(graph.inputs):
        raise RuntimeError(
            f"run_cached_graph: expected {len(graph.inputs)} inputs, got {len(inputs)}"
        )
    memory = [_fitting(tensor, value.spec) for tensor, value in zip(inputs, graph.inputs)]
    outputs = computation.run(memory, numbers)
    inflight.check()
    return [
        new_tensor(Storage(data), value.spec.fresh())
        for data, value in zip(outputs, graph.outputs, strict=True)
    ]


def _fitting(tensor: Any, spec: Any) -> Bytes:
    """The memory of a tensor, laid out as the graph reads it."""
    given = tensor._spec
    if given.shape != spec.shape or given.dtype is not spec.dtype:
        raise RuntimeError(
            f"run_cached_graph: expected an input of shape {list(spec.shape)} and {spec.dtype}, "
            f"got {list(given.shape)} and {given.dtype}"
        )
    if given.strides != spec.strides or given.offset:
        tensor = tensor.as_strided(given.shape, given.strides, given.offset)
        fresh = tensor.new_empty_strided(spec.shape, spec.strides)
        tensor = fresh.copy_(tensor)
    data: Bytes = tensor._storage.snapshot()
    return data
