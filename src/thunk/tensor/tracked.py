"""Enters: a tensor. Leaves: its history as attributes: gradients, hooks, versions, `data`.

Invariant: nothing is decided here; `thunk.autograd` decides, this class only asks.
"""

from __future__ import annotations

from typing import Any

from thunk.autograd import api
from thunk.autograd.edges import edge_of, is_leaf, refresh_view
from thunk.autograd.meta import History, history_of, requires_grad
from thunk.autograd.node import Node, RemovableHandle, add_hook
from thunk.lazy.backward import backward as replayed
from thunk.runtime.tensors import forget_value, new_tensor
from thunk.types.tensor_base import InferenceCounter, TensorBase, VersionCounter


class Tracked(TensorBase):
    """What autograd knows of a tensor."""

    __slots__ = ()

    @property
    def requires_grad(self) -> bool:
        node = self._node
        if node is not None and node.requires_grad and node.external < 0:
            return True
        return requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Ask for gradients, or stop asking; leaves only."""
        api.set_requires_grad(self, requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        return is_leaf(self)

    @property
    def grad(self) -> Any:
        history: History | None = self._history
        return None if history is None else history.grad

    @grad.setter
    def grad(self, value: Any) -> None:
        api.set_grad(self, value)

    @grad.deleter
    def grad(self) -> None:
        api.set_grad(self, None)

    @property
    def grad_fn(self) -> Node | None:
        history: History | None = self._history
        if history is None:
            return None
        if history.base is not None:
            refresh_view(self, history)
        return history.grad_fn

    @property
    def output_nr(self) -> int:
        return 0 if self._history is None else self._history.output_index

    @property
    def _version(self) -> int:
        if isinstance(self._versions, InferenceCounter):
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._versions.value

    def is_inference(self) -> bool:
        """Whether this tensor was born in inference mode."""
        return isinstance(self._versions, InferenceCounter)

    @property
    def _base(self) -> Any:
        return None if self._history is None else self._history.base

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def retains_grad(self) -> bool:
        return self._history is not None and bool(self._history.retains_grad)

    def retain_grad(self) -> None:
        """Keep this result's gradient in `.grad` during backward."""
        api.retain_grad(self)

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
        inputs: Any = None,
    ) -> None:  # fmt: skip
        """Accumulate the gradients of this tensor into the leaves it depends on."""
        if gradient is None and inputs is None and not create_graph and replayed(
            self, bool(retain_graph)
        ):
            return
        api.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is known; a result replaces it."""
        return api.register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(self)` after a gradient was accumulated into this leaf."""
        if not is_leaf(self) or not requires_grad(self):
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        history = history_of(self)
        if history.post_accumulate_hooks is None:
            history.post_accumulate_hooks = {}
        return add_hook(history.post_accumulate_hooks, hook)

    @property
    def data(self) -> Any:
        """The same memory without history and with a write counter of its own."""
        if self._node is not None:
            self._node.trace.hide(self)
        return new_tensor(self._storage, self._spec, VersionCounter())

    @data.setter
    def data(self, value: TensorBase) -> None:
        forget_value(self)
        self._storage = value._storage
        self._spec = value._spec

    def detach_(self) -> Any:
        """Drop the history in place."""
        history: History | None = self._history
        if history is not None:
            if history.base is not None:
                raise RuntimeError("Can't detach views in-place. Use detach() instead.")
            history.grad_fn = None
            history.requires_grad = False
            if self._node is not None:
                self._node.trace.flag_changed(self)
        return self

    @property
    def grad_edge(self) -> Any:
        return edge_of(self)

    @property
    def name(self) -> str | None:
        return None if self._history is None else self._history.name

    @property
    def _backward_hooks(self) -> Any:
        return None if self._history is None else self._history.hooks

    @property
    def volatile(self) -> bool:
        return False
