"""Enters: an in-place call in a trace. Leaves: the target bound to a new value, aliases made stale.

Invariant: the trace stays functional: a write through a window makes a new value of the whole
storage, and whoever looks into that storage derives its value again when next used.
"""

from __future__ import annotations

from typing import Any

from thunk.autograd.edges import is_refused, move_retained
from thunk.autograd.inplace import change_window, check_result, check_writable
from thunk.autograd.meta import Edge, requires_grad
from thunk.autograd.overlap import refuse_partial_overlap
from thunk.dispatch.call import call, tensors_in
from thunk.dispatch.keys import KeySet
from thunk.dispatch.state import no_grad_recording, state
from thunk.ir.opdef import OpDef
from thunk.lazy.eager import run_now
from thunk.lazy.home import base_of
from thunk.lazy.memory import Write
from thunk.lazy.node import THROUGH_VIEW, TraceNode
from thunk.lazy.record import history_of_node
from thunk.lazy.trace import Trace, has_history, has_storage, traces
from thunk.ops.registry import t
from thunk.runtime.storage import Storage
from thunk.runtime.tensors import forget_value
from thunk.types.tensor_base import TensorBase


def lazy_inplace_kernel(op: OpDef, keys: KeySet, args: tuple[Any, ...]) -> Any:
    """Record the functional operator and bind its result to the target."""
    functional = op.functional
    assert functional is not None
    if functional.view:
        return _change_window(op, functional, args)
    place = next(i for i, each in enumerate(op.schema.arguments) if each.is_written)
    target = args[place]
    if _is_not_recorded(target):
        return _write_now(op, args, target)
    derives = not has_history(target)
    recording = state.grad_enabled and any(requires_grad(each) for each in tensors_in(args))
    check_writable(op.name, target, recording, "idempotent" in functional.variants)
    refuse_partial_overlap(op.name, target, [each for each in args if not _is_plain(each)])
    trace = traces.current
    trace.node_of(target)
    walk, depth = trace.generation, trace.at().depth  # the operator itself reads the old value
    result = call(functional, args)
    if recording and requires_grad(target) and not requires_grad(result):
        # A constant replaces the value: the target still requires grad, and passes none on.
        result = t.copy(target, result)
    check_result(op.name, target._spec, result._spec)
    if result._spec.dtype is not target._spec.dtype:
        result = result.to(target._spec.dtype)
    result = _laid_out(target, result)
    if derives and has_history(target) and not has_storage(target) and target._node is not None:
        del target._history  # the checks asked for it; it follows from the node again
    rebind(trace, target, result, depth if trace.generation == walk else 0)
    return target


def _is_not_recorded(target: Any) -> bool:
    """Whether the target's memory is somebody else's too, or is known as another dtype's."""
    if not has_storage(target):
        return False
    storage: Storage = target._storage
    dtypes = (target._spec.dtype, base_of(target)._spec.dtype)
    reinterprets = storage.home is not None and any(storage.home.dtype is not x for x in dtypes)
    return storage.foreign or reinterprets


def _write_now(op: OpDef, args: tuple[Any, ...], target: Any) -> Any:
    """Shared memory is written at once, and bits where they are: the trace knows values."""
    for each in tensors_in(args):
        if each._node is not None:
            each._node.trace.materialise()
    storage: Storage = target._storage
    storage.writable()
    trace = traces.current
    if any(each._storage is storage for each, _ in trace.foreign):
        trace.materialise()  # what backward keeps of it is told of the write by its counter
    return run_now(op, args)


def _laid_out(target: Any, result: Any) -> Any:
    """The result in the memory order of what it replaces, if that is all there is."""
    spec = target._spec
    whole = not has_storage(target) or target._storage.home == spec
    if whole and spec.is_non_overlapping_and_dense() and result._spec.strides != spec.strides:
        return t.relayout(result, spec.strides)
    return result


def _change_window(op: OpDef, functional: OpDef, args: tuple[Any, ...]) -> Any:
    target = change_window(op, functional, args)
    target._node = None
    traces.current.writes.append(Write(target, False, 0))
    return target


def _is_plain(value: Any) -> bool:
    """A pending result without a storage shares memory with nobody."""
    return isinstance(value, TensorBase) and not has_storage(value)


def rebind(trace: Trace, target: Any, result: Any, depth: int) -> None:
    """Make `result` the value of `target` and of everything that shares its memory.

    What was recorded up to `depth` may not read the old value any more.
    """
    old = trace.node_of(target)
    new = trace.node_of(result)
    storage: Storage | None = target._storage if has_storage(target) else None
    if storage is None:
        trace.overwritten[old.memory] = depth
        target._versions.value += 1
        _rebind_plain(trace, target, old, new, depth)
        trace.mark(("write", old))
        return
    trace.know_contents(target)
    whole = target._spec == storage.home
    owner = base_of(target)
    told = trace.segment.memory.write(storage.node, target, depth)
    before = _contents(trace, owner, storage)
    keeps = before.requires_grad and not state.grad_enabled
    if keeps or (whole and owner is target) or not (before.requires_grad or new.requires_grad):
        value = _whole_value(trace, before, target, new, whole, keeps)
    else:
        trace.mark(THROUGH_VIEW, (THROUGH_VIEW,))
        value = _scattered(trace, before, target, new)
        trace.segment.memory.move(new, value)
    alone = storage.users == 1
    if not alone:
        # What they are as of now, before the write is counted.
        told &= _aliases_are_stale(trace, storage, target, depth)
    target._versions.value += 1
    if storage.trace is None:
        storage.trace = trace
        trace.storages.append(storage)
    storage.node = value
    known = whole and requires_grad(target) == value.requires_grad and not is_refused(target)
    target._node = value if known else None
    storage.users = 0 if target._node is None else 1  # all others forgot what they were
    constant = not value.requires_grad and target._history is None
    trace.mark(("write", old))
    simple = told and alone and whole and target._node is value and (keeps or constant)
    trace.writes.append(Write(target, simple, depth))
    if state.grad_enabled:
        _hand_on_history(trace, target, owner, value)


def _contents(trace: Trace, owner: Any, storage: Storage) -> TraceNode:
    """What is in a storage, such that its gradients flow where those of `owner` do.

    Tensors with other histories may look into the same storage.
    """
    contents: TraceNode = storage.node
    if owner._spec == storage.home:
        return trace.with_own_history(owner, contents, False)
    if contents.requires_grad:
        contents = trace.cut_off(contents)
    if not requires_grad(owner):
        return contents
    spec = owner._spec
    shown = trace.with_own_history(owner, trace.window(contents, spec), True)
    with no_grad_recording(True):
        joined: TraceNode = t.as_strided_scatter(
            trace.wrap(contents), trace.wrap(shown), spec.shape, spec.strides, spec.offset
        )._node
    return joined


def _rebind_plain(
    trace: Trace, target: Any, old: TraceNode, new: TraceNode, depth: int
) -> None:
    """A pending result that shares memory with nobody."""
    derives = not has_history(target)
    trace.writes.append(Write(target, derives, depth))
    if old.requires_grad and not state.grad_enabled:
        target._node = _with_history_of(trace, new, old)
        return
    target._node = new
    if not derives and (new.requires_grad or old.requires_grad):
        target._history = _renewed(target, new)


def _whole_value(
    trace: Trace, before: TraceNode, target: Any, new: TraceNode, whole: bool, keeps: bool
) -> TraceNode:
    """The storage's contents after the write, with the history they should have."""
    value = new
    if not whole:
        with no_grad_recording(state.grad_enabled and not keeps):
            value = _scattered(trace, before, target, new)
    return _with_history_of(trace, value, before) if keeps else value


def _scattered(trace: Trace, before: TraceNode, target: Any, new: TraceNode) -> TraceNode:
    spec = target._spec
    found: TraceNode = t.as_strided_scatter(
        trace.wrap(before), trace.wrap(new), spec.shape, spec.strides, spec.offset
    )._node
    return found


def _with_history_of(trace: Trace, value: TraceNode, before: TraceNode) -> TraceNode:
    if before.external >= 0:
        return trace.same_leaf(value, before)
    with no_grad_recording(True):
        kept: TraceNode = t.with_history(trace.wrap(value), trace.wrap(before))._node
    kept.requires_grad = True
    return kept


def _aliases_are_stale(trace: Trace, storage: Storage, target: Any, depth: int) -> bool:
    """All who look into the storage look again; whether those with copies know of the write."""
    told = True
    for each in (*trace.results, *trace.registered):
        if each._node is not None and has_storage(each) and each._storage is storage:
            each._spec, each._versions, each._history  # noqa: B018  (found while pending)
            if each._node.memory is not storage.node.memory:
                told &= trace.segment.memory.write(each._node, target, depth)
            each._node = None
            storage.users -= 1
    return told


def _hand_on_history(trace: Trace, target: Any, owner: Any, value: TraceNode) -> None:
    """The base of the target, or the target itself, takes the history of the new contents."""
    history, spec = owner._history, owner._spec
    if history is not None and history.grad_fn is None and history.requires_grad:
        return
    if value.requires_grad and spec != target._storage.home:
        value = trace.window(value, spec)
    if owner._storage is not target._storage:
        forget_value(owner)  # it was given other memory, and is known there
    owner._history = _renewed(owner, value)
    if owner is not target:
        target._history.view_version = -1


def _renewed(tensor: Any, node: TraceNode) -> Any:
    fresh = history_of_node(node, node.trace.segment)
    old = tensor._history
    if old is None or fresh is None:
        return fresh if fresh is not None else _without_producer(old)
    if old.retains_grad and old.grad_fn is not None:
        before, after = (Edge(each.grad_fn, each.output_index) for each in (old, fresh))
        move_retained(before, after)
    old.grad_fn, old.output_index = fresh.grad_fn, fresh.output_index
    old.requires_grad = True
    return old


def _without_producer(history: Any) -> Any:
    if history is not None and not history.requires_grad:
        history.grad_fn = None
    return history
