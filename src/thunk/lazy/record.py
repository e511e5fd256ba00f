"""Enters: an operator's call on tensors. Leaves: pending tensors, and one more step of the trace.

Invariant: on a path walked before nothing is inferred: the edge's node has the specs.
"""

from __future__ import annotations

from typing import Any

from thunk.autograd.edges import edge_of
from thunk.autograd.meta import Edge, History, requires_grad
from thunk.autograd.views import mark_view
from thunk.dispatch.infer import infer
from thunk.dispatch.keys import KeySet
from thunk.dispatch.state import state
from thunk.ir.opdef import NoGradient, OpDef
from thunk.lazy.eager import run_now
from thunk.lazy.node import OUTPUT, Slot, TraceNode, operands_of
from thunk.lazy.segment import Constant
from thunk.lazy.trace import Trace, traces
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase


def lazy_kernel(op: OpDef, keys: KeySet, args: tuple[Any, ...]) -> Any:
    """Record one operator; operators whose result depends on data or chance run at once."""
    if op.needs_values or op.random:
        return run_now(op, args)
    trace = traces.current
    node = record(trace, op, args)
    if node.outputs is not None:
        return tuple([_result(trace, op, each, args[0]) for each in node.outputs])
    return _result(trace, op, node, args[0] if args else None)


def record(trace: Trace, op: OpDef, args: tuple[Any, ...]) -> TraceNode:
    """Follow or make the edge of this call."""
    numbers: list[Any] = []
    scalars = op.runtime_scalars
    recording = state.grad_enabled and not isinstance(op.gradient, NoGradient)
    frozen = tuple(
        [
            _freeze(trace, value, recording, numbers if argument.name in scalars else None)
            for argument, value in zip(op.schema.arguments, args, strict=True)
        ]
    )
    key = (op, frozen, state.grad_enabled)
    parent = trace.node
    node = trace.step(key, lambda: _make(trace, parent, op, frozen, args))
    trace.scalars += numbers
    return node


def _freeze(trace: Trace, value: Any, recording: bool, numbers: list[Any] | None) -> Any:
    if isinstance(value, TensorBase):
        return trace.node_of(value, recording)
    if isinstance(value, (list, tuple)):
        return tuple([_freeze(trace, each, recording, None) for each in value])
    if numbers is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
        numbers.append(value)
        return Slot(type(value))
    if isinstance(value, (bool, int, float, complex)):
        return Constant(value)
    return value


def _make(
    trace: Trace, parent: TraceNode, op: OpDef, frozen: tuple[Any, ...], args: tuple[Any, ...]
) -> TraceNode:
    node = TraceNode(trace, parent, op, frozen)
    node.scalar_start = len(trace.scalars)
    specs = infer(op, args)
    wants = (
        state.grad_enabled
        and not isinstance(op.gradient, NoGradient)
        and any(each.requires_grad for each in operands_of(frozen))
    )
    if isinstance(specs, TensorSpec):
        node.spec = specs
        node.requires_grad = wants and specs.dtype.is_inexact
        return node
    outputs = []
    for index, spec in enumerate(specs):
        output = TraceNode(trace, parent, OUTPUT, (node, index))
        output.depth = node.depth
        output.spec = spec
        output.requires_grad = wants and spec.dtype.is_inexact
        outputs.append(output)
    node.outputs = tuple(outputs)
    return node


def _result(trace: Trace, op: OpDef, node: TraceNode, source: Any) -> Any:
    tensor = trace.wrap(node)
    if op.view:
        tensor._storage = source._storage
        tensor._versions = source._versions
        tensor._spec = node.spec
        if not isinstance(op.gradient, NoGradient):
            tensor._history = history_of_node(node)
            mark_view(tensor, source)
            if not node.requires_grad and requires_grad(tensor):
                tensor._node = trace.attach(node, edge_of(tensor))
        else:
            tensor._history = None
    return tensor


def history_of_node(node: TraceNode) -> Any:
    """The history a pending tensor has because of its node, None for constants."""
    if not node.requires_grad:
        return None
    edge = node.trace.segment.edge(node)
    return None if edge is None else history_from(edge)


def history_from(edge: Edge) -> History:
    """A history whose producer is `edge`."""
    history = History()
    history.requires_grad = True
    history.grad_fn, history.output_index = edge
    return history
