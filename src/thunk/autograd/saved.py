"""Enters: a tensor that backward will read. Leaves: the same value later, or PyTorch's error.

Invariant: a value written after it was saved is never handed to a formula.
"""

from __future__ import annotations

from typing import Any

from thunk.autograd.edges import alias_of, is_leaf
from thunk.autograd.meta import History
from thunk.autograd.node import Node
from thunk.dispatch.state import no_grad_recording, state
from thunk.runtime.tensors import new_tensor
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import InferenceCounter, TensorBase

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)


INFERENCE = (
    "Inference tensors cannot be saved for backward. To work around you can make a clone to get a "
    "normal tensor and use it in autograd."
)


class SavedValue:
    """One saved tensor with the version it had."""

    __slots__ = (
        "_history", "_hooks", "_packed", "_spec", "is_output", "output_index", "tensor", "version",
        "versions",
    )  # fmt: skip

    def __init__(
        self, tensor: Any, output_index: int | None = None, seen_by_hooks: bool = True
    ) -> None:
        if isinstance(tensor._versions, InferenceCounter) and output_index is None:
            raise RuntimeError(INFERENCE)
        self.versions = tensor._versions
        self.version = tensor._versions.value
        self.output_index = output_index
        self.is_output = output_index is not None
        hooks = state.saved_tensor_hooks if seen_by_hooks else ()
        self._hooks: Any = hooks[-1] if hooks else None
        self._packed: Any = None
        self._spec: TensorSpec = tensor._spec
        if self.is_output:
            # Kept without its producer: node -> result -> node would be a cycle.
            kept = new_tensor(tensor._storage, tensor._spec, tensor._versions)
        else:
            kept = tensor if is_leaf(tensor) else alias_of(tensor)
        self._history: History | None = kept._history
        self.tensor: Any = kept
        if self._hooks is not None:
            with no_grad_recording():
                self._packed = self._hooks[0](detached(kept))
            self.tensor = None

    def unpack(self, node: Node) -> Any:
        """The tensor, with its place in the graph; raises if it was written since."""
        if self._hooks is not None:
            return self._unpack_through_hook(node)
        if self.versions.value != self.version:
            raise RuntimeError(self._overwritten(node))
        if self.output_index is None:
            return self.tensor
        return produced_by(self.tensor, node, self.output_index)

    def _unpack_through_hook(self, node: Node) -> Any:
        _, unpack = self._hooks
        value = unpack(self._packed)
        if not isinstance(value, TensorBase):
            raise TypeError(
                "saved_tensors_hooks: expected unpack to return a Tensor, got "
                f"{type(value).__name__}"
            )
        result = new_tensor(value._storage, value._spec, value._versions)
        if self.output_index is not None:
            return produced_by(result, node, self.output_index)
        result._history = self._history
        return result

    def _overwritten(self, node: Node) -> str:
        maker: Node | None = node
        index = self.output_index
        if not self.is_output:
            history = self._history or History()
            maker, index = history.grad_fn, history.output_index
        where = "" if maker is None else f", which is output {index} of {maker.name()},"
        versions = f" is at version {self.versions.value}; expected version {self.version} instead"
        return overwritten_message(where + versions, self._spec)


def overwritten_message(what: str, spec: TensorSpec) -> str:
    """PyTorch's complaint about a saved value that was written since."""
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{spec.dtype!r} {list(spec.shape)}]{what}. Hint: clone() it before writing, "
        "or enable anomaly detection to find the operation: torch.autograd.set_detect_anomaly(True)"
    )


def detached(tensor: Any) -> Any:
    """The values of `tensor` without history."""
    return new_tensor(tensor._storage, tensor._spec, tensor._versions)


def produced_by(tensor: Any, node: Node, index: int) -> Any:
    """`tensor` as output `index` of `node`; indices and the like have no history."""
    if not tensor._spec.dtype.is_inexact:
        return tensor
    history = History()
    history.requires_grad = True
    history.grad_fn = node
    history.output_index = index
    alias = new_tensor(tensor._storage, tensor._spec, tensor._versions)
    alias._history = history
    return alias
