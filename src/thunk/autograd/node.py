"""Enters: gradients of a node's outputs. Leaves: gradients of its inputs.

Invariant: nodes are numbered in order of creation, and the engine runs them from the highest down.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from thunk.autograd.meta import Edge, history_of
from thunk.dispatch.state import recorder_of_thread
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase

Grads = list[Any]
_sequence = itertools.count(1)
_hook_ids = itertools.count(1)


WALK, STEP = 1 << 80, 1 << 40  # from one walk's first number to the next one's; of its steps


def next_sequence() -> int:
    """A number above those of all nodes so far, and room for what a walk records after it."""
    return next(_sequence) * WALK


def _sequence_now() -> int:
    """A number above those of all operations so far, pending ones included."""
    walk = recorder_of_thread[0]()
    return next_sequence() if walk is None else walk.segment.now()


class RemovableHandle:
    """Removes one hook; usable as a context manager.

    `extra_dict` names tables that know something of the hook, one or a list of them.
    """

    __slots__ = ("__weakref__", "_extras", "_hooks", "id")

    # Pickles name PyTorch's home of it, and hold what PyTorch's hold.
    __module__ = "thunk.utils.hooks"

    def __init__(self, hooks_dict: dict[int, Any], *, extra_dict: Any = None) -> None:
        self.id = next(_hook_ids)
        self._hooks = hooks_dict
        self._extras = tuple(extra_dict) if isinstance(extra_dict, (list, tuple)) else (extra_dict,)

    def remove(self) -> None:
        """Forget the hook; doing it again changes nothing."""
        for table in (getattr(self._hooks, "continued_by", self._hooks), *self._extras):
            if table is not None:
                table.pop(self.id, None)

    def hooks_dict_ref(self) -> dict[int, Any]:
        """The table that the hook is or was in."""
        return self._hooks

    def __getstate__(self) -> tuple[Any, ...]:
        return self._hooks, self.id, self._extras

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id, *extras = state
        self._hooks = {} if hooks is None else hooks
        self._extras = tuple(extras[0] or ()) if extras else ()

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def add_hook(hooks: dict[int, Any], hook: Any) -> RemovableHandle:
    """Append `hook` and return the handle that removes it."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


class Node:
    """One step of the backward graph."""

    __slots__ = (
        "__weakref__", "_metadata", "edges", "output_count", "output_specs", "post_hooks",
        "pre_hooks", "retained", "sequence", "tensor_hooks", "trace",
    )  # fmt: skip

    edges: tuple[Edge | None, ...]

    def __init__(self, edges: tuple[Edge | None, ...], output_specs: list[TensorSpec]) -> None:
        self.edges = edges
        self._prepare(output_specs, _sequence_now())

    def _prepare(self, output_specs: list[TensorSpec], sequence: int) -> None:
        self.output_specs = output_specs
        self.output_count = len(output_specs)
        self.sequence = sequence
        self.pre_hooks: dict[int, Callable[..., Any]] | None = None
        self.post_hooks: dict[int, Callable[..., Any]] | None = None
        self.tensor_hooks: dict[int, dict[int, Any]] | None = None
        self.retained: dict[int, weakref.ref[Any]] | None = None
        self.trace: str | None = None
        self._metadata: dict[Any, Any] | None = None

    def name(self) -> str:
        """The node's name as PyTorch prints it."""
        return type(self).__name__

    def apply(self, grads: Grads) -> Grads:
        """Gradients of the inputs, one an edge."""
        raise NotImplementedError(f"{self.name()}: expected a subclass that says how to go back")

    @property
    def is_watched(self) -> bool:
        """Whether a hook or a tensor waits for the gradients that pass here."""
        return bool(self.pre_hooks or self.post_hooks or self.tensor_hooks or self.retained)

    def release(self) -> None:
        """Drop saved values after a backward pass that does not retain them."""

    @property
    def metadata(self) -> dict[Any, Any]:
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return tuple([(e.node, e.index) if e is not None else (None, 0) for e in self.edges])

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after this node ran."""
        if self.post_hooks is None:
            self.post_hooks = {}
        return add_hook(self.post_hooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before this node runs."""
        if self.pre_hooks is None:
            self.pre_hooks = {}
        return add_hook(self.pre_hooks, hook)

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {id(self):#x}>"


def set_history(tensor: TensorBase, node: Node, index: int) -> None:
    """Make `node` the producer of `tensor`."""
    history = history_of(tensor)
    history.grad_fn = node
    history.output_index = index
    history.view_version = tensor._versions.value
    if tensor._node is not None:
        tensor._node.trace.flag_changed(tensor)
