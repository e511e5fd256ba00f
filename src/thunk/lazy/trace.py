"""Enters: tensors and operations of one thread. Leaves: the thread's walk along its trie.

Invariant: the lengths of `results`, `leaves`, `scalars` and `externals` follow from `node` alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from thunk.autograd.edges import edge_of
from thunk.autograd.meta import requires_grad
from thunk.lazy.node import ATTACH, LEAF, ROOT, LeafFact, TraceNode
from thunk.lazy.segment import Segment
from thunk.ops.registry import t
from thunk.runtime.storage import Storage
from thunk.types.spec import TensorSpec, make_spec
from thunk.types.tensor_base import TensorBase


class Trace:
    """One thread's position, and what it met on the way since the last cut."""

    def __init__(self) -> None:
        self.root = TraceNode(self, None, ROOT, ())
        self.cutting = False
        self.reset()

    def reset(self) -> None:
        """Start a new walk at the root; the trie stays."""
        self.node = self.root
        self.results: list[Any] = []
        self.leaves: list[Any] = []
        self.scalars: list[Any] = []
        self.externals: list[Any] = []
        self.storages: list[Storage] = []
        self.registered: list[Any] = []
        self.overwritten: dict[TraceNode, int] = {}
        self.segment = Segment(self)

    def step(self, key: Any, make: Callable[[], TraceNode]) -> TraceNode:
        """Follow the edge `key`, making its node on the first visit."""
        node = self.node.children.get(key)
        if node is None:
            node = self.node.children[key] = make()
        self.node = node
        return node

    def node_of(self, tensor: Any, with_history: bool = True) -> TraceNode:
        """The node that holds the present value of `tensor`."""
        node: TraceNode | None = tensor._node
        if node is None:
            return self._register(tensor, with_history)
        if node.trace is not self:
            node.trace.materialise()
            return self._register(tensor, with_history)
        return node

    def flag_changed(self, tensor: Any) -> None:
        """`requires_grad` of a tensor of this walk was switched."""
        node: TraceNode = tensor._node
        if requires_grad(tensor):
            changed = self.attach(node, _external(tensor))
        else:
            changed = self._cut_off(node)
        tensor._node = changed
        if has_storage(tensor):
            for each in (*self.results, *self.registered):
                if each is not tensor and has_storage(each) and each._storage is tensor._storage:
                    each._node = None
            if tensor._spec == tensor._storage.home:
                tensor._storage.node = changed

    def _register(self, tensor: Any, with_history: bool) -> TraceNode:
        storage: Storage = tensor._storage
        if storage.trace is not None and storage.trace is not self:
            storage.trace.materialise()
        node: TraceNode | None = storage.node
        spec: TensorSpec = tensor._spec
        if node is None or node.trace is not self:
            node = self._leaf(tensor, storage, spec)
        if spec != storage.home:
            node = self._window(node, spec)
        if not with_history and requires_grad(tensor) != node.requires_grad:
            return node
        node = self._with_own_history(tensor, node, spec != storage.home)
        tensor._node = node
        self.registered.append(tensor)
        return node

    def _leaf(self, tensor: Any, storage: Storage, spec: TensorSpec) -> TraceNode:
        if storage.home is None:
            storage.home = _home_of(storage, spec)
        owner = _owner(tensor, storage)
        differentiable = owner is not None and requires_grad(owner)
        fact = LeafFact(storage.home, differentiable, differentiable)
        parent = self.node

        def make() -> TraceNode:
            node = TraceNode(self, parent, LEAF, (fact,))
            node.spec = fact.spec
            node.leaf = len(self.leaves)
            node.requires_grad = differentiable
            node.external = len(self.externals) if differentiable else -1
            return node

        node = self.step(fact, make)
        self.leaves.append(storage.snapshot())
        if differentiable:
            self.externals.append(_external(owner))
        storage.node = node
        self.storages.append(storage)
        return node

    def _window(self, node: TraceNode, spec: TensorSpec) -> TraceNode:
        found: TraceNode = t.as_strided(
            self.wrap(node), spec.shape, spec.strides, spec.offset
        )._node
        return found

    def _with_own_history(self, tensor: Any, node: TraceNode, is_window: bool) -> TraceNode:
        """Views keep the edge of their own while nobody wrote to their base."""
        wants = requires_grad(tensor)
        if wants == node.requires_grad and not (wants and is_window):
            return node
        if not wants:
            return self._cut_off(node)
        return self.attach(node, _external(tensor))

    def _cut_off(self, node: TraceNode) -> TraceNode:
        found: TraceNode = t.detach(self.wrap(node))._node
        return found

    def attach(self, node: TraceNode, external: Any) -> TraceNode:
        """The value of `node` with a gradient that leaves the trace for `external`."""
        parent = self.node

        def make() -> TraceNode:
            made = TraceNode(self, parent, ATTACH, (node,))
            made.spec = node.spec
            made.requires_grad = True
            made.external = len(self.externals)
            return made

        made = self.step((ATTACH, node), make)
        self.externals.append(external)
        return made

    def wrap(self, node: TraceNode) -> Any:
        """A pending tensor for `node`."""
        tensor: Any = object.__new__(pending_class[0])
        tensor._node = node
        self.results.append(tensor)
        return tensor

    def materialise(self) -> None:
        """Run what was recorded; afterwards nothing of this walk is pending."""
        cutter[0](self)


def has_storage(tensor: Any) -> bool:
    """Whether a storage was made for the tensor; a plain pending result has none."""
    try:
        object.__getattribute__(tensor, "_storage")
    except AttributeError:
        return False
    return True


pending_class: list[Any] = [TensorBase]
cutter: list[Callable[[Trace], None]] = []


def _owner(tensor: Any, storage: Storage) -> Any:
    """The tensor whose history the storage's value carries: the base of a view, or itself."""
    history = tensor._history
    if history is not None and history.base is not None:
        return history.base
    return tensor if tensor._spec == storage.home else None


def _external(tensor: Any) -> Any:
    """The edge a gradient takes once it leaves the trace; a later switch does not change it."""
    return edge_of(tensor)


def _home_of(storage: Storage, spec: TensorSpec) -> TensorSpec:
    itemsize = spec.dtype.itemsize
    whole = spec.offset == 0 and spec.numel * itemsize == storage.nbytes
    if whole and spec.is_non_overlapping_and_dense():
        return spec
    return make_spec((storage.nbytes // itemsize,), spec.dtype, spec.device)


class _Traces(threading.local):
    def __init__(self) -> None:
        self.current = Trace()


traces = _Traces()
