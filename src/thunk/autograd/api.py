"""Enters: what users ask of autograd. Leaves: engine passes, flags, hooks.

Invariant: the functions of `thunk.autograd` and the methods of `Tensor` are the same code.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from thunk.autograd.edges import edge_of, is_leaf
from thunk.autograd.engine import run_backward
from thunk.autograd.meta import History, history_of, requires_grad
from thunk.autograd.node import RemovableHandle, add_hook
from thunk.dispatch.state import no_grad_recording
from thunk.ops.registry import t
from thunk.runtime.tensors import birth, empty_tensor, new_tensor
from thunk.types.tensor_base import InferenceCounter, TensorBase


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Accumulate the gradients of `tensors` into the leaves, or into `inputs` alone."""
    roots = _as_tuple(tensors)
    chosen = None if inputs is None else _as_tuple(inputs)
    if chosen is not None and not chosen:
        raise RuntimeError("'inputs' argument to backward cannot be empty.")
    for each in chosen or ():
        retain_grad(each)
    run_backward(
        roots,
        _gradients_for(roots, grad_tensors),
        keep_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        inputs=chosen,
    )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` with respect to `inputs`, without touching any `.grad`."""
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    roots = _as_tuple(outputs)
    chosen = _as_tuple(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    gradients = _gradients_for(roots, grad_outputs)
    rows = _rows_of(gradients) if is_grads_batched else [gradients]
    passes = [
        run_backward(
            roots,
            row,
            keep_graph=keep or index < len(rows) - 1,
            create_graph=create_graph,
            inputs=chosen,
            accumulate=False,
            allow_unused=materialize_grads if allow_unused is None else allow_unused,
        )
        for index, row in enumerate(rows)
    ]
    found = [_stacked(list(each)) for each in zip(*passes)] if is_grads_batched else passes[0]
    if materialize_grads:
        found = [
            each if each is not None else _zeros_for(source, create_graph)
            for each, source in zip(found, chosen, strict=True)
        ]
    return tuple(found)


def _rows_of(gradients: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """One tuple of gradients for each row of batched ones."""
    sizes = {None if each is None or not each.dim() else each.shape[0] for each in gradients}
    if len(sizes) != 1 or None in sizes or 0 in sizes:
        shapes = [None if each is None else list(each.shape) for each in gradients]
        raise ValueError(
            "autograd.grad: expected grad_outputs with the same first dimension, of at least one "
            f"row, since is_grads_batched=True, got shapes {shapes}"
        )
    return list(zip(*[each.unbind(0) for each in gradients]))


def _stacked(rows: list[Any]) -> Any:
    return None if rows[0] is None else t.stack(rows)


def _zeros_for(tensor: Any, differentiable: bool) -> Any:
    result = empty_tensor(tensor._spec.fresh())
    result.zero_()
    if differentiable:
        set_requires_grad(result, True)
    return result


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, TensorBase) else tuple(value)


def _gradients_for(roots: Sequence[Any], given: Any) -> tuple[Any, ...]:
    if given is None:
        return (None,) * len(roots)
    gradients = _as_tuple(given)
    if len(gradients) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    return gradients


def set_requires_grad(tensor: TensorBase, value: bool) -> None:
    """Switch gradients of a leaf on or off."""
    if requires_grad(tensor) == value:
        return
    if not value and not is_leaf(tensor):
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. If you want to use a "
            "computed variable in a subgraph that doesn't require differentiation use "
            "var_no_grad = var.detach()."
        )
    if value and not tensor._spec.dtype.is_inexact:
        raise RuntimeError(
            "requires_grad: only Tensors of floating point and complex dtype can require "
            f"gradients, got {tensor._spec.dtype!r}; convert it with .float()"
        )
    if value and isinstance(tensor._versions, InferenceCounter) and not birth.inference:
        raise RuntimeError(
            "requires_grad: expected a normal tensor, got an inference tensor outside "
            "inference_mode(); clone() it first"
        )
    history_of(tensor).requires_grad = value
    if tensor._node is not None:
        tensor._node.trace.flag_changed(tensor)


def set_grad(tensor: TensorBase, value: Any) -> None:
    """Assign `.grad`, checked as in PyTorch."""
    if value is None:
        if tensor._history is not None:
            tensor._history.grad = None
        return
    if not isinstance(value, TensorBase):
        raise TypeError(
            "assigned grad expected to be a Tensor or None but got grad of type "
            f"'{type(value).__name__}'"
        )
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if value._spec.dtype is not tensor._spec.dtype:
        raise RuntimeError(
            f"assigned grad has data of a different type: expected {tensor._spec.dtype!r}, got "
            f"{value._spec.dtype!r}"
        )
    if value._spec.shape != tensor._spec.shape:
        raise RuntimeError(
            f"assigned grad has data of a different size: expected {list(tensor._spec.shape)}, got "
            f"{list(value._spec.shape)}"
        )
    history_of(tensor).grad = value


def retain_grad(tensor: TensorBase) -> None:
    """Keep the gradient of a result."""
    if not requires_grad(tensor):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if is_leaf(tensor):
        return
    edge = edge_of(tensor)
    assert edge is not None
    if edge.node.retained is None:
        edge.node.retained = {}
    edge.node.retained[edge.index] = weakref.ref(tensor)
    history_of(tensor).retains_grad = True


def register_hook(tensor: TensorBase, hook: Any) -> RemovableHandle:
    """Call `hook` with the gradient of `tensor` when it is known."""
    if not requires_grad(tensor):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    history: History = history_of(tensor)
    edge = edge_of(tensor)
    if edge is None or history.grad_fn is None:
        if history.hooks is None:
            history.hooks = {}
        return add_hook(history.hooks, hook)
    if edge.node.tensor_hooks is None:
        edge.node.tensor_hooks = {}
    return add_hook(edge.node.tensor_hooks.setdefault(edge.index, {}), hook)


def deep_copy(tensor: Any, memo: dict[int, Any]) -> Any:
    """A leaf with values, gradient and flags of its own; shared storages stay shared."""
    storage = memo.get(id(tensor._storage))
    if storage is None:
        storage = type(tensor._storage)(
            None if tensor._storage.data is None else tensor._storage.data.copy()
        )
        memo[id(tensor._storage)] = storage
    copied = new_tensor(storage, tensor._spec)
    copied.__class__ = type(tensor)
    history: History | None = tensor._history
    if history is not None and history.requires_grad:
        history_of(copied).requires_grad = True
        if history.grad is not None:
            with no_grad_recording():
                gradient: Any = history.grad
                copied._history.grad = gradient.clone()
    return copied
