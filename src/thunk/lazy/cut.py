"""Enters: a walk. Leaves: the values of everything that is still alive, and of what backward needs.

Invariant: nothing is committed before everything is computed; an error leaves the walk pending.
"""

from __future__ import annotations

import sys
from typing import Any

from thunk.autograd.saved import SavedValue
from thunk.base.config import config
from thunk.lazy.metrics import count
from thunk.lazy.node import TraceNode, operands_of
from thunk.lazy.program import GraphOfPath
from thunk.lazy.record import history_from
from thunk.lazy.segment import Segment, reads_of
from thunk.lazy.trace import Trace, has_storage
from thunk.runtime.backend import backend_named
from thunk.runtime.storage import Storage, array_of
from thunk.runtime.tensors import new_tensor, tensor_like
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import VersionCounter


def _references_of_a_dead_result() -> int:
    """What `getrefcount` says of an object that only one list and the loop hold."""
    probe = [object()]
    for each in probe:
        return sys.getrefcount(each)
    raise AssertionError("unreachable")


_DEAD = _references_of_a_dead_result()


def cut(trace: Trace) -> None:
    """Run the walk and commit it."""
    if trace.cutting:
        raise RuntimeError("lazy: expected no value to be needed while a trace is being cut")
    if trace.node is trace.root:
        return
    trace.cutting = True
    try:
        _run_and_commit(trace)
    finally:
        trace.cutting = False


def _run_and_commit(trace: Trace) -> None:
    alive = _alive(trace.results)
    storages = _alive_storages(trace, alive)
    residuals = _residual_nodes(trace, alive)
    wanted = [each._node for each in alive if each._node is not None]
    wanted += [storage.node for storage in storages]
    wanted += residuals
    values = _run(trace, wanted)
    _commit(trace, alive, storages, residuals, values)


def _alive(results: list[Any]) -> list[Any]:
    found = []
    for each in results:
        if sys.getrefcount(each) > _DEAD:
            found.append(each)
    return found


def _alive_storages(trace: Trace, alive: list[Any]) -> list[Storage]:
    held = {id(each._storage) for each in alive if has_storage(each)}
    return [
        storage for storage in trace.storages
        if storage.trace is trace and (id(storage) in held or storage.existed)
    ]  # fmt: skip


def _residual_nodes(trace: Trace, alive: list[Any]) -> list[TraceNode]:
    """Values that a later backward pass will read."""
    segment = trace.segment
    released = {node for node, back in segment.backward_nodes.items() if back.saved_args is None}
    stack = [each._node.producer for each in alive if each._node is not None]
    stack += [storage.node.producer for storage in trace.storages if storage.node is not None]
    stack += [node for node in segment.backward_nodes if node not in released]
    seen: set[TraceNode] = set()
    found: dict[TraceNode, None] = {}
    while stack:
        node = stack.pop()
        if node in seen or node.trace is not trace:
            continue
        seen.add(node)
        outputs = node.outputs or (node,)
        if not any(each.requires_grad for each in outputs) or node.external >= 0:
            continue
        if node not in released:
            found.update(dict.fromkeys(reads_of(node)))
        stack += [each.producer for each in operands_of(node.args)]
    return list(found)


class Plan:
    """The program of one cut, and where its inputs stand in a walk."""

    __slots__ = ("executable", "inputs", "numbers", "specs")

    def __init__(self, end: TraceNode, wanted: tuple[TraceNode, ...]) -> None:
        built = GraphOfPath(end.path(), wanted)
        self.inputs = built.inputs
        self.numbers = built.numbers
        self.specs = [each.spec.fresh() for each in wanted]
        count("UncachedCompile")
        self.executable = backend_named(config.backend).compile(built.graph, frozenset())

    def run(self, leaves: list[Any], numbers: list[Any]) -> list[Any]:
        """The wanted values, as tensors without history."""
        found = self.executable.run(
            [leaves[each] for each in self.inputs], [numbers[each] for each in self.numbers]
        )
        return [
            new_tensor(Storage(data), spec) for data, spec in zip(found, self.specs, strict=True)
        ]


def _run(trace: Trace, wanted: list[TraceNode]) -> dict[TraceNode, Any]:
    """Evaluate what `wanted` needs."""
    distinct = tuple(dict.fromkeys(wanted))
    end = trace.node
    plan = end.plans.get(distinct)
    if plan is None:
        plan = end.plans[distinct] = Plan(end, distinct)
    else:
        count("CachedCompile")
    count("Executions")
    return dict(zip(distinct, plan.run(trace.leaves, trace.scalars), strict=True))


def _commit(
    trace: Trace, alive: list[Any], storages: list[Storage], residuals: list[TraceNode],
    values: dict[TraceNode, Any],
) -> None:  # fmt: skip
    taken: set[int] = {id(data) for data in trace.leaves}
    for each in alive:
        if each._node is not None:
            each._spec, each._versions, each._history  # noqa: B018  (found while pending)
    contents = [
        _contents(values[storage.node], storage.node.spec, taken) for storage in storages
    ]
    plain = [each for each in alive if each._node is not None and not has_storage(each)]
    bodies = [_contents(values[each._node], each._spec, taken) for each in plain]
    holders = {each._node: each for each in (*trace.registered, *alive) if each._node is not None}
    owners = {node: holders.get(node) for node in residuals}
    for storage, data in zip(storages, contents, strict=True):
        storage.receive(data)
    for storage in trace.storages:
        storage.forget_trace()
    for each, data in zip(plain, bodies, strict=True):
        each._storage = Storage(data)
        each._storage.home = each._spec
    for each in (*trace.results, *trace.registered):
        each._node = None
    segment = trace.segment
    segment.finish({})
    for node, owner in owners.items():
        segment.residuals[node] = _residual(segment, node, owner, values[node])
    trace.reset()


def _contents(value: Any, spec: TensorSpec, taken: set[int]) -> Any:
    """Memory that holds exactly `value` in the geometry of `spec`, shared with nobody."""
    data = value._storage.data
    fits = value._spec.strides == spec.strides and value._spec.offset == spec.offset
    exact = data is not None and data.nbytes >= spec.extent() * spec.dtype.itemsize
    if fits and exact and id(data) not in taken:
        taken.add(id(data))
        return data
    array = array_of(value._storage, value._spec).copy()
    return tensor_like(array, spec)._storage.data


def _residual(segment: Segment, node: TraceNode, owner: Any, value: Any) -> Any:
    """What backward reads: the memory that still holds the value, watched for writes, or a copy."""
    source = value if owner is None else owner
    versions = VersionCounter() if owner is None else owner._versions
    kept = new_tensor(source._storage, source._spec, versions)
    edge = segment.edge(node)
    if edge is not None:
        kept._history = history_from(edge)
    return SavedValue(kept)
