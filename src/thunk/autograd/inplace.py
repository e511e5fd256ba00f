"""Enters: an in-place call. Leaves: the target with new values, a new version and a new history.

Invariant: an in-place operator is its functional form followed by `assign`; nothing else writes
to tensors that may have a history.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from thunk.autograd.edges import (
    MADE_WITHOUT_GRAD,
    alias_of,
    edge_of,
    is_leaf,
    move_retained,
    refusal,
)
from thunk.autograd.meta import Edge, History, history_of, requires_grad
from thunk.autograd.node import Grads, Node, set_history
from thunk.autograd.overlap import refuse_partial_overlap, refuse_self_overlap
from thunk.autograd.record import OpNode
from thunk.autograd.saved import FREED
from thunk.autograd.windows import clear_window, read_window
from thunk.dispatch.call import call, tensors_in
from thunk.dispatch.keys import KeySet
from thunk.dispatch.state import no_grad_recording, state
from thunk.ir.opdef import OpDef
from thunk.ops.registry import t
from thunk.runtime.storage import array_of
from thunk.runtime.tensors import birth, forget_value, new_tensor
from thunk.types.promotion import can_cast
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import InferenceCounter, TensorBase


def inplace_kernel(op: OpDef, keys: KeySet, args: tuple[Any, ...]) -> Any:
    """Run the in-place operator derived from `op.functional`."""
    functional = op.functional
    assert functional is not None
    if functional.view:
        return change_window(op, functional, args)
    place = next(i for i, each in enumerate(op.schema.arguments) if each.is_written)
    target = args[place]
    differentiable = state.grad_enabled and target._spec.dtype.is_inexact
    recording = differentiable and any(requires_grad(each) for each in tensors_in(args))
    check_writable(op.name, target, recording, "idempotent" in functional.variants)
    refuse_partial_overlap(op.name, target, args)
    source = target
    own_name = functional.schema.arguments[place].name
    if recording and (own_name in functional.saved or functional.is_composite):
        source = _snapshot(target)
    result = call(functional, (*args[:place], source, *args[place + 1 :]))
    if recording and edge_of(result) is None and requires_grad(target):
        # A constant replaces the value: the target still requires grad, and passes none on.
        result = t.copy(source, result)
    assign(op.name, target, result)
    return target


def check_writable(
    name: str, target: TensorBase, recording: bool, idempotent: bool = False
) -> None:
    """Raise where PyTorch refuses to write in place."""
    if isinstance(target._versions, InferenceCounter) and not birth.inference:
        raise RuntimeError(
            f"{name}: Inplace update to inference tensor outside InferenceMode is not allowed; "
            "clone() it first"
        )
    check_history(name, target, recording)
    if not idempotent:
        refuse_self_overlap(name, target._spec)


def check_history(name: str, target: TensorBase, recording: bool) -> None:
    """Raise where a write to `target` cannot be differentiated."""
    if not state.grad_enabled:
        return
    history: History | None = target._history
    if history is None:
        return
    if history.requires_grad and is_leaf(target):
        raise RuntimeError(
            f"{name}: a leaf Variable that requires grad is being used in an in-place operation; "
            "wrap the call in no_grad() or clone() the tensor"
        )
    base = history.base
    if base is None:
        return
    if is_leaf(base) and requires_grad(target) and history.creation != MADE_WITHOUT_GRAD:
        raise RuntimeError(
            f"{name}: a view of a leaf Variable that requires grad is being used in an in-place "
            "operation; wrap the call in no_grad() or clone() the tensor"
        )
    if history.creation and (recording or requires_grad(base)):
        raise RuntimeError(f"{name}: {refusal(history.creation, 'it')}")


def change_window(op: OpDef, functional: OpDef, args: tuple[Any, ...]) -> Any:
    """An in-place view operator: the target looks at the same storage through another window."""
    target = args[0]
    check_history(op.name, target, requires_grad(target))
    shown = call(functional, args)
    edge = edge_of(shown) if state.grad_enabled else None
    target._spec = shown._spec
    target._versions.value += 1
    if edge is not None:
        set_history(target, edge.node, edge.index)
    return target


def _snapshot(target: TensorBase) -> Any:
    """The target's present value and history; a formula may read it after the write."""
    with no_grad_recording():
        copied = t.clone(target)
    copied._history = alias_of(target)._history
    return copied


def assign(name: str, target: TensorBase, result: Any) -> None:
    """Make `result` the value, and where recording the history, of `target`."""
    check_result(name, target._spec, result._spec)
    if result._spec.dtype is not target._spec.dtype:
        result = result.to(target._spec.dtype)
    write(target, result)
    if not state.grad_enabled:
        return
    edge = edge_of(result)
    if edge is None:
        return
    if isinstance(edge.node, OpNode):
        _results_live_in(edge.node, target)
    rebind(target, edge)


def rebind(target: TensorBase, edge: Edge) -> None:
    """Make `edge` the history of `target`; a view hands it on to its base."""
    history = history_of(target)
    owner = target if history.base is None else history.base
    before = edge_of(owner) if history_of(owner).retains_grad else None
    if history.base is None:
        set_history(target, edge.node, edge.index)
        history.requires_grad = True
    else:
        _rebase(history.base, target, edge)
    if before is not None:
        move_retained(before, edge_of(owner))


def write(target: TensorBase, result: TensorBase) -> None:
    """Copy values and count the write; no history."""
    if target._storage.writable() is not None and target._spec.numel:
        array_of(target._storage, target._spec)[...] = array_of(result._storage, result._spec)
    target._versions.value += 1


def check_result(name: str, target: TensorSpec, result: TensorSpec) -> None:
    if not can_cast(result.dtype, target.dtype):
        raise RuntimeError(
            f"{name}: result type {result.dtype!r} can't be cast to the desired output type "
            f"{target.dtype!r}; use the out-of-place form or convert the operands"
        )
    if result.shape != target.shape:
        raise RuntimeError(
            f"{name}: output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}; use the out-of-place form"
        )


def _results_live_in(node: OpNode, target: TensorBase) -> None:
    # What the node saved of its result is now the target's value: a later write must be noticed.
    for saved in node.saved_results or []:
        if saved is not None:
            saved.versions = target._versions
            saved.version = target._versions.value


class CopySlices(Node):
    """Backward of a write through a view: the window's gradient goes to the writer's inputs."""

    __slots__ = ("base_spec", "edge", "freed", "view_spec")

    def __init__(self, base: TensorBase, view: TensorSpec, edge: Edge) -> None:
        self.edge: Edge | None = edge
        self.freed = False
        self.base_spec = base._spec
        self.view_spec = view
        super().__init__((edge_of(base), edge), [base._spec])

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply(self, grads: Grads) -> Grads:
        gradient = grads[0]
        if gradient is None:
            return [None, None]
        if self.freed:
            raise RuntimeError(FREED)
        base, view = self.base_spec, self.view_spec
        laid = t.relayout(gradient, base.strides)
        start = base.offset * base.dtype.itemsize // view.dtype.itemsize
        window = replace(view, offset=view.offset - start)
        return [clear_window(laid, window), read_window(laid, window)]

    def release(self) -> None:
        """As in PyTorch, a write through a view is differentiated once, whatever it saved."""
        self.freed = True


def _rebase(base: TensorBase, view: TensorBase, edge: Edge) -> None:
    forget_value(view)
    node = CopySlices(base, view._spec, edge)
    set_history(base, node, 0)
    history_of(base).requires_grad = True
    own = history_of(view)
    own.view_version = -1
    own.requires_grad = False


def detached_alias(tensor: TensorBase) -> Any:
    """Shares values and write counter, not history."""
    return new_tensor(tensor._storage, tensor._spec, tensor._versions)
