"""Enters: a value of a walk that was cut. Leaves: the same for a formula of a later backward pass.

Invariant: a value that was written to since is never handed out. A formula that records no
gradients gets it as a constant, one and the same each time, so that a walk knows it by one leaf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thunk.autograd.saved import SavedValue
from thunk.dispatch.state import state
from thunk.runtime.tensors import new_tensor

if TYPE_CHECKING:
    from thunk.lazy.node import TraceNode
    from thunk.lazy.segment import Segment, TraceBackward


class Kept:
    """A value that no leaf shows; its place in the graph is found when somebody asks for it."""

    __slots__ = ("_tracked", "node", "tensor", "version")

    def __init__(self, node: TraceNode, tensor: Any) -> None:
        self.node = node
        self.tensor = tensor  # without history
        self.version = tensor._versions.value
        self._tracked: Any = None

    @property
    def is_current(self) -> bool:
        """Whether nobody wrote to it."""
        return bool(self.tensor._versions.value == self.version)

    def unpack(self, reader: TraceBackward) -> Any:
        """The value as `reader` may use it."""
        if self.is_current and not (state.grad_enabled and self.node.requires_grad):
            return self.tensor
        return self._with_history(reader.segment).unpack(reader)

    def _with_history(self, segment: Segment) -> SavedValue:
        if self._tracked is None:
            tensor = new_tensor(self.tensor._storage, self.tensor._spec, self.tensor._versions)
            tensor._history = segment.history(self.node)
            self._tracked = SavedValue(tensor, seen_by_hooks=False)
            self._tracked.version = self.version
        saved: SavedValue = self._tracked
        return saved


class KeptLeaf(SavedValue):
    """A value that a leaf shows: it may yet ask for gradients, or not any more."""

    __slots__ = ()

    def __init__(self, leaf: Any) -> None:
        super().__init__(leaf, seen_by_hooks=False)

    @property
    def is_current(self) -> bool:
        """Whether nobody wrote to it."""
        return bool(self.versions.value == self.version)
