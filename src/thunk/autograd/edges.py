"""Enters: a tensor. Leaves: the edge its gradient takes, and the node that accumulates at a leaf.

Invariant: a view whose base was written since it last looked re-derives its history first, so an
edge never leads to a value that no longer exists.
"""

from __future__ import annotations

import weakref
from typing import Any

from thunk.autograd.meta import Edge, History, requires_grad
from thunk.autograd.node import Grads, Node
from thunk.autograd.windows import read_window
from thunk.dispatch.state import no_grad_recording, state
from thunk.ops.registry import t
from thunk.runtime.tensors import new_tensor
from thunk.types.tensor_base import TensorBase

_AFTER_ALL_OTHERS = 1 << 200


class AccumulateGrad(Node):
    """Adds what arrives to the `.grad` of one leaf."""

    __slots__ = ("variable",)

    def __init__(self, variable: TensorBase) -> None:
        super().__init__((), [variable._spec])
        self.variable = variable
        # Runs as soon as it is ready, so that a gradient is freed as early as possible.
        self.sequence = _AFTER_ALL_OTHERS

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def apply(self, grads: Grads) -> Grads:
        gradient = grads[0]
        if gradient is None:
            return []
        history: History = self.variable._history
        gradient = run_tensor_hooks(history.hooks, gradient)
        if not is_leaf(self.variable):
            raise RuntimeError(
                "leaf variable has been moved into the graph interior: it was written to since; "
                "clone() it before writing"
            )
        if requires_grad(self.variable):
            accumulate(self.variable, gradient)
        for hook in list((history.post_accumulate_hooks or {}).values()):
            hook(self.variable)
        return []


def run_tensor_hooks(hooks: dict[int, Any] | None, gradient: Any) -> Any:
    """Pass `gradient` through hooks; a hook that returns something replaces it."""
    for hook in list((hooks or {}).values()):
        replaced = hook(gradient)
        if replaced is not None:
            if not isinstance(replaced, TensorBase):
                raise TypeError(
                    "expected hook to return a Tensor or None, but got "
                    f"{type(replaced).__name__}; return the new gradient"
                )
            gradient = replaced
    return gradient


def accumulate(variable: TensorBase, gradient: Any) -> None:
    """`variable.grad += gradient`, as PyTorch does it: in place unless the result needs history."""
    history: History = variable._history
    old: Any = history.grad
    if old is None:
        history.grad = _own_copy(variable, gradient)
    elif state.grad_enabled:
        history.grad = old + gradient
    else:
        old.add_(gradient)


def _own_copy(variable: TensorBase, gradient: Any) -> Any:
    # The gradient may be shared with another leaf or held by the caller, so it is never stolen.
    return t.relayout(gradient, variable._spec.fresh().strides)


def edge_of(tensor: TensorBase) -> Edge | None:
    """Where the gradient of `tensor` flows, or None."""
    history: History | None = tensor._history
    if history is None:
        return None
    if history.base is not None:
        refresh_view(tensor, history)
    if history.grad_fn is not None:
        return Edge(history.grad_fn, history.output_index)
    return leaf_edge(tensor) if history.requires_grad else None


def leaf_edge(tensor: TensorBase) -> Edge:
    """The edge to what accumulates at a leaf."""
    history: History = tensor._history
    node = history.accumulator() if history.accumulator is not None else None
    if node is None:
        node = AccumulateGrad(tensor)
        history.accumulator = weakref.ref(node)
    return Edge(node, 0)


def is_leaf(tensor: TensorBase) -> bool:
    """Whether `tensor` was made by the user, not by a differentiable operator."""
    history: History | None = tensor._history
    if history is None:
        return True
    if history.base is not None:
        refresh_view(tensor, history)
    return history.grad_fn is None


def refresh_view(tensor: TensorBase, history: History) -> None:
    """Re-derive the history of a view whose base was written since."""
    base = history.base
    if base is None or history.view_version == tensor._versions.value:
        return
    if history.grad_fn is None and not requires_grad(base):
        return
    if history.creation:
        raise RuntimeError(refusal(history.creation, "its base or another view of its base"))
    with no_grad_recording(True):
        fresh = read_window(base, tensor._spec)
    history.view_version = tensor._versions.value
    # A base that stopped asking for gradients leaves its views the way they have.
    if fresh._history.grad_fn is not None:
        if history.retains_grad and history.grad_fn is not None:
            move_retained(Edge(history.grad_fn, history.output_index), edge_of(fresh))
        history.grad_fn = fresh._history.grad_fn
        history.output_index = fresh._history.output_index


def is_refused(tensor: TensorBase) -> bool:
    """Whether asking for the edge of `tensor`, a view, raises since its base was written."""
    history: History | None = tensor._history
    if history is None or history.base is None or not history.creation:
        return False
    stale = history.view_version != tensor._versions.value
    return stale and (history.grad_fn is not None or requires_grad(history.base))


def move_retained(before: Edge, after: Edge | None) -> None:
    """A result that retains its gradient retains that of its new value."""
    reference = (before.node.retained or {}).pop(before.index, None)
    if reference is not None and after is not None:
        after.node.retained = {**(after.node.retained or {}), after.index: reference}


MADE_WITHOUT_GRAD = "no_grad"
ONE_OF_SEVERAL = "multiple"
MADE_BY_FUNCTION = "function"

_ORIGIN = {
    MADE_WITHOUT_GRAD: "A view was created in no_grad mode",
    ONE_OF_SEVERAL: "This view is one of the outputs of a function that returns several views",
    MADE_BY_FUNCTION: "This view was returned by a custom Function",
}


def refusal(creation: str, what: str) -> str:
    """Why a write through `what` cannot be differentiated."""
    return (
        f"{_ORIGIN[creation]} and {what} is being modified inplace with grad mode enabled; "
        "use the out-of-place form, or clone() the view first"
    )


def alias_of(tensor: TensorBase) -> Any:
    """A second tensor over the same storage with the same place in the backward graph."""
    edge = edge_of(tensor)
    alias = new_tensor(tensor._storage, tensor._spec, tensor._versions)
    if edge is not None:
        history = History()
        history.requires_grad = True
        history.grad_fn, history.output_index = edge
        alias._history = history
    return alias
