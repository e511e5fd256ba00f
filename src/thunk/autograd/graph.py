"""Enters: requests about the backward graph. Leaves: edges, hooks on saved values and gradients.

Invariant: this is the public `thunk.autograd.graph`; it adds nothing the engine does not have.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal
from weakref import WeakKeyDictionary

from thunk.autograd.api import register_hook
from thunk.autograd.edges import edge_of
from thunk.autograd.engine import running
from thunk.autograd.meta import Edge, requires_grad
from thunk.autograd.node import Node, RemovableHandle
from thunk.dispatch.state import state
from thunk.types.tensor_base import TensorBase

GradientEdge = Edge

__all__ = [
    "GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


class saved_tensors_hooks:
    """Pass every value saved for backward through `pack`, and back through `unpack`."""

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self._hooks = (pack_hook, unpack_hook)

    def __enter__(self) -> None:
        if state.saved_hooks_disabled is not None:
            raise RuntimeError(state.saved_hooks_disabled)
        state.saved_tensor_hooks = [*state.saved_tensor_hooks, self._hooks]

    def __exit__(self, *error: object) -> None:
        state.saved_tensor_hooks = state.saved_tensor_hooks[:-1]


class save_on_cpu(saved_tensors_hooks):
    """Keep saved values in memory of the CPU; here they are there already."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda value: value, lambda value: value)


class disable_saved_tensors_hooks:
    """Refuse saved-tensor hooks inside the block with `error_message`."""

    def __init__(self, error_message: str) -> None:
        self._message = error_message

    def __enter__(self) -> None:
        if state.saved_tensor_hooks:
            raise RuntimeError(self._message)
        self._previous = state.saved_hooks_disabled
        state.saved_hooks_disabled = self._message

    def __exit__(self, *error: object) -> None:
        state.saved_hooks_disabled = self._previous


def get_gradient_edge(tensor: TensorBase) -> Edge:
    """Where the gradient of `tensor` flows."""
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not "
            "require gradients"
        )
    return edge


def increment_version(tensor: Any) -> None:
    """Count a write that autograd could not see."""
    for each in [tensor] if isinstance(tensor, TensorBase) else tensor:
        each._versions.value += 1


class _Handles(RemovableHandle):
    __slots__ = ("_all",)

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        super().__init__({})
        self._all = tuple(handles)

    def remove(self) -> None:
        for handle in self._all:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[[Any], Any], *, mode: Literal["all", "any"] = "all"
) -> RemovableHandle:
    """Call `fn` once every (or the first) gradient of `tensors` in a backward pass is known."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    watched = [each for each in tensors if requires_grad(each)]
    lock = threading.Lock()
    seen: WeakKeyDictionary[Any, dict[int, Any]] = WeakKeyDictionary()  # by pass

    def hook_for(index: int) -> Callable[[Any], None]:
        def hook(gradient: Any) -> None:
            current = running.passes[-1]
            edges = [edge_of(each) for each in watched]
            expected = sum(edge is not None and current.visits(edge.node) for edge in edges)
            with lock:
                known = seen.setdefault(current, {})
                known[index] = gradient
                count = len(known)
                gathered = [known.get(i) for i in range(len(watched))]
            if mode == "any" and count == 1:
                fn(gradient)
            elif mode == "all" and count == expected:
                fn(_in_given_order(tensors, watched, gathered))

        return hook

    return _Handles([register_hook(each, hook_for(i)) for i, each in enumerate(watched)])


def _in_given_order(tensors: Sequence[Any], watched: list[Any], grads: list[Any]) -> list[Any]:
    known = {id(tensor): gradient for tensor, gradient in zip(watched, grads, strict=True)}
    return [known.get(id(tensor)) for tensor in tensors]
