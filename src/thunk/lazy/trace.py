"""Enters: tensors and operations of one thread. Leaves: the thread's walk along its trie.

Invariant: the lengths of `results`, `leaves`, `scalars` and `externals` are the counts that `node`
states; `repair` restores this after an exception in the middle of a step.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from thunk.autograd.edges import AccumulateGrad, edge_of, is_refused
from thunk.autograd.meta import requires_grad
from thunk.dispatch.state import recorder_of_thread, state
from thunk.lazy.home import (
    external_of,
    home_of,
    home_of_window,
    is_part,
    is_small,
    owner_of,
    settle,
)  # fmt: skip
from thunk.lazy.memory import Write
from thunk.lazy.modes import mode_token
from thunk.lazy.node import (
    ATTACH,
    LEAF,
    MARK,
    ROOT,
    Detour,
    LeafFact,
    TraceNode,
    leaf_fact,
)  # fmt: skip
from thunk.lazy.segment import Segment
from thunk.ops.registry import t
from thunk.runtime.storage import Storage, copy_of
from thunk.runtime.tensors import forget_value
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import InferenceCounter, TensorBase

_bare = object.__new__
_raw_storage: Any = TensorBase.__dict__["_storage"]
_raw_history: Any = TensorBase.__dict__["_history"]


class Trace:
    """One thread's position, and what it met on the way since the last cut."""

    def __init__(self) -> None:
        self.detour: Any = Detour()
        self.generation = 0
        self.cutting = False
        self.clear()

    def clear(self) -> None:
        """Forget the trie; what is pending must have been cut."""
        self.root = TraceNode(self, None, ROOT, ())
        self.mode: Any = None
        self.node: Any = self.detour
        # Where walks start in the modes that they started in last.
        self.first: tuple[Any, TraceNode] = (None, self.root)
        self.places: dict[Any, dict[Any, None]] = {}  # where calls that look into leaves looked
        self.period: Any = None  # what the walk is expected to repeat until it is cut
        self.reset()

    def reset(self) -> None:
        """Start a new walk at the root, in the modes of now if they are known; the trie stays."""
        self.generation += 1
        mode, start = self.first
        if mode is not None and self.node is not self.detour and mode == self.mode:
            self.node = self.position = start
        else:
            self.position, self.node, self.mode = self.root, self.detour, None
        self.results: list[Any] = []
        self.leaves: list[Any] = []
        self.scalars: list[Any] = []
        self.externals: list[Any] = []
        self.storages: list[Storage] = []  # with newer contents than their memory
        self.known: list[Storage] = []  # whose contents are a leaf here
        self.registered: list[Any] = []
        self.foreign: list[tuple[Any, TraceNode]] = []  # reads of memory that others may write to
        self.writes: list[Write] = []
        self.placements = 0  # operators that named places in memory that lies anywhere
        self.look_at = 256  # how deep in the walk it is asked whether it repeats
        self.looked_elsewhere = False  # whether a place differed from that of an earlier walk
        self.sharing: dict[int, int] | None = None  # numbers that several operators of a call take
        self.segment = Segment(self)
        self.overwritten = self.segment.memory.overwritten

    # Where the walk stands

    def leave_known_modes(self) -> None:
        """The modes changed: the next step finds out what they are now."""
        if self.node is not self.detour:
            self.position = self.node
            self.node = self.detour

    def at(self) -> TraceNode:
        """The node where the walk stands, its modes known."""
        if self.node is not self.detour:
            node: TraceNode = self.node
            return node
        token = mode_token()
        node = self.position
        if token != self.mode:
            key = (MARK, token)
            found = node.children.get(key)
            if found is None:
                found = node.children[key] = self._counted(TraceNode(self, node, MARK, ()))
            self.mode = token
            if node is self.root:
                self.first = (token, found)
            node = self.position = found
        self.node = node
        return node

    @property
    def end(self) -> TraceNode:
        """The last node of the walk, whatever the modes are now."""
        node: TraceNode = self.position if self.node is self.detour else self.node
        return node

    @property
    def is_empty(self) -> bool:
        return not (self.results or self.leaves or self.storages)

    def step(self, key: Any, make: Callable[[], TraceNode]) -> TraceNode:
        """Follow the edge `key`, making its node on the first visit."""
        position = self.at()
        node = position.children.get(key)
        if node is None:
            node = make()
            position.children[key] = node
        self.node = node
        return node

    def _counted(self, node: TraceNode) -> TraceNode:
        node.counts = (
            len(self.results), len(self.leaves), len(self.scalars), len(self.externals)
        )
        return node

    def counted_here(self) -> None:
        """State how long the lists are where the walk stands."""
        self._counted(self.at())

    def mark(self, key: Any, args: tuple[Any, ...] = ()) -> TraceNode:
        """A node without a value, for something that happened."""
        position = self.at()
        node = self.step((MARK, key), lambda: TraceNode(self, position, MARK, args))
        return self._counted(node)

    def repair(self) -> None:
        """Drop what an interrupted step appended."""
        results, leaves, scalars, externals = self.end.counts
        del self.results[results:], self.leaves[leaves:]
        del self.scalars[scalars:], self.externals[externals:]

    # Operands

    def node_of(self, tensor: Any, with_history: bool = True) -> TraceNode:
        """The node that holds the present value of `tensor`."""
        node: TraceNode | None = tensor._node
        if node is None:
            return self._register(tensor, with_history)
        if node.trace is not self:
            node.trace.materialise()
            return self._register(tensor, with_history)
        return node

    def register(self, tensor: Any) -> TraceNode | None:
        """The node of a tensor that has none; None if it cannot be recorded."""
        storage: Storage = tensor._storage
        if storage.node is None and storage.home is tensor._spec and not storage.foreign:
            history = tensor._history
            fact = None
            if history is None:
                fact = storage.plain
            elif history.grad_fn is None and history.base is None:
                fact = storage.tracked if history.requires_grad else storage.plain
            if fact is not None:
                child: TraceNode | None = self.node.children.get(fact)
                if child is None and self.node is self.detour and state.records:
                    child = self.at().children.get(fact)
                if child is not None:
                    try:
                        self.leaves.append(storage._data)
                        if fact.differentiable:
                            self.externals.append(tensor)
                        self.registered.append(tensor)
                        storage.node = tensor._node = child
                        storage.users += 1
                        self.node = child
                    except BaseException:
                        self.repair()
                        raise
                    return child
        if (storage.trace is None and storage._data is None) or not state.records:
            return None
        try:
            return self._register(tensor, True)
        except RuntimeError:
            return None  # whoever needs its place in the graph is told what is wrong with it

    def flag_changed(self, tensor: Any) -> None:
        """`requires_grad` of a tensor of this walk was switched."""
        node: TraceNode = tensor._node
        if requires_grad(tensor):
            changed = self.attach(node, edge_of(tensor))
        else:
            changed = self.cut_off(node)
        before = self.segment.edge(node)
        was_leaf = before is None or type(before.node) is AccumulateGrad
        if was_leaf and tensor._history.grad_fn is None:
            self.segment.memory.renew(node, changed)
            self.mark(("flag", node))
        tensor._node = changed
        if has_storage(tensor):
            for each in (*self.results, *self.registered):
                if each is not tensor and has_storage(each) and each._storage is tensor._storage:
                    forget_value(each)
            if tensor._spec == tensor._storage.home:
                tensor._storage.node = changed

    def overwrite(self, node: TraceNode) -> None:
        """What was recorded so far may not read the value of `node` any more."""
        self.overwritten[node.memory] = self.at().depth
        self.mark(("write", node))

    def hide(self, tensor: Any) -> None:
        """Somebody may write to the memory of `tensor` without its counter being told."""
        self.segment.memory.counters.setdefault(tensor._node.memory, tensor._versions)
        tensor._storage.users += 1  # a remembered write must not take itself for the only user

    def _register(self, tensor: Any, with_history: bool) -> TraceNode:
        storage: Storage = tensor._storage
        if storage.trace is not None and storage.trace is not self:
            storage.trace.materialise()
        spec: TensorSpec = tensor._spec
        if storage.home is not None and storage.home.dtype is not spec.dtype:
            if storage.trace is not None:
                storage.memory  # noqa: B018  (written as another dtype: computed)
            if storage.node is not None:
                return self._reinterpreted(tensor, storage, spec)
            storage.home = None
        if is_part(storage, spec) and not requires_grad(tensor):
            if storage.foreign:
                read = self._window_leaf(tensor)
                self.foreign.append((tensor, read))
                return read
            if is_small(spec):
                return self.know_window(tensor)  # wherever it lies, the walk is the same
        node: TraceNode | None = storage.node
        if node is None or node.trace is not self:
            if node is not None:
                node.trace.materialise()
            node = self._leaf(tensor, storage, spec)
        if spec != storage.home:
            node = self.window(node, spec)
        if not with_history or (not state.grad_enabled and is_refused(tensor)):
            return node  # nobody asks where its gradient flows, so nobody is told it cannot
        node = self.with_own_history(tensor, node, spec != storage.home)
        if storage.foreign:
            self.foreign.append((tensor, node))
            return node  # whoever shares the memory may write to it before the next use
        if storage.users:
            node = self._with_own_counter(tensor, storage, node)
        tensor._node = node
        self.registered.append(tensor)
        storage.users += 1
        return node

    def _with_own_counter(self, tensor: Any, storage: Storage, node: TraceNode) -> TraceNode:
        """A name of its own for a value that others know, if they count its writes elsewhere."""
        counters = self.segment.memory.counters
        if node.memory not in counters:
            for each in (*self.registered, *self.results):
                if each._node is not None and has_storage(each) and each._storage is storage:
                    if each._versions is tensor._versions:
                        return node
                    self.hide(each)
                    break
        if self.segment.memory.counter_of(node) in (None, tensor._versions):
            return node
        own = self.cut_off(node)
        if node.requires_grad:
            own = self.attach(own, edge_of(tensor))
        counters[own] = tensor._versions
        return own

    def _leaf(self, tensor: Any, storage: Storage, spec: TensorSpec) -> TraceNode:
        if storage.plain is None or storage.home is None:
            settle(storage, spec, isinstance(tensor._versions, InferenceCounter))
        owner = owner_of(tensor, storage)
        differentiable = owner is not None and requires_grad(owner)
        fact: LeafFact = storage.tracked if differentiable else storage.plain
        node = self._leaf_of(fact, storage, owner if differentiable else None)
        if not storage.foreign:
            storage.node = node
            self.known.append(storage)
        return node

    def _reinterpreted(self, tensor: Any, storage: Storage, spec: TensorSpec) -> TraceNode:
        """Bits that this walk knows as values of another dtype: each read is a leaf of its own."""
        home = home_of(storage, spec)
        fact = leaf_fact(home, False, isinstance(tensor._versions, InferenceCounter))
        node = self._leaf_of(fact, storage, None)
        if spec != home:
            node = self.window(node, spec)
        return self.with_own_history(tensor, node, spec != home)

    def _leaf_of(self, fact: LeafFact, storage: Storage, owner: Any) -> TraceNode:
        """The present contents of a storage; their gradient leaves the trace at `owner`."""
        node = self._leaf_node(fact, owner is not None)
        self.leaves.append(storage.snapshot())
        if owner is not None:
            self.externals.append(external_of(owner))
        return self._counted(node)

    def _leaf_node(self, fact: LeafFact, differentiable: bool) -> TraceNode:
        """The node for the leaf whose memory and external are the next in their lists."""
        parent = self.at()

        def make() -> TraceNode:
            node = TraceNode(self, parent, LEAF, ())
            node.spec = fact.spec
            node.leaf = len(self.leaves)
            node.inference = fact.inference
            node.requires_grad = differentiable
            node.external = len(self.externals) if differentiable else -1
            return node

        return self.step(fact, make)

    def placed(self, tensor: Any) -> TraceNode:
        """The node that holds the present value of `tensor` as a window of its storage."""
        node = self.node_of(tensor)
        if has_storage(tensor) and is_part(tensor._storage, tensor._spec):
            self.placements += 1
        if node.spec.offset == tensor._spec.offset:
            return node
        shown = self.window(self.know_contents(tensor), tensor._spec)
        return self.with_own_history(tensor, shown, True)

    def know_contents(self, tensor: Any) -> TraceNode:
        """The node of all that the storage of `tensor` holds."""
        storage: Storage = tensor._storage
        if storage.node is None:
            return self._leaf(tensor, storage, tensor._spec)
        node: TraceNode = storage.node
        return node

    def know_window(self, tensor: Any) -> TraceNode:
        """Let a view of memory be a leaf of its own, wherever it lies."""
        node = tensor._node = self._window_leaf(tensor)
        self.registered.append(tensor)
        tensor._storage.users += 1
        return node

    def _window_leaf(self, tensor: Any) -> TraceNode:
        """A leaf that holds a copy of what `tensor` shows now, and of no more than lies between.

        Its node counts from the first element, the tensor's spec from the start of the storage.
        """
        copied = copy_of(tensor._storage, tensor._spec)
        own = replace(tensor._spec, offset=0)
        inference = isinstance(tensor._versions, InferenceCounter)
        node = self._leaf_node(leaf_fact(home_of_window(own), False, inference), False)
        self.leaves.append(copied)
        self._counted(node)
        return node if node.spec == own else self.window(node, own)

    def window(self, node: TraceNode, spec: TensorSpec) -> TraceNode:
        """What a tensor of this geometry shows of a storage's contents."""
        found: TraceNode = t.as_strided(
            self.wrap(node), spec.shape, spec.strides, spec.offset
        )._node
        return found

    def with_own_history(self, tensor: Any, node: TraceNode, is_window: bool) -> TraceNode:
        """`node`, a value of `tensor`, such that gradients flow where those of `tensor` do."""
        wants = requires_grad(tensor)
        own = not wants or (not is_window and self._is_own(tensor, node))
        if wants == node.requires_grad and own:
            return node
        if not wants:
            return self.cut_off(node)
        return self.attach(node, edge_of(tensor))

    def _is_own(self, tensor: Any, node: TraceNode) -> bool:
        """Whether the gradients of `node` are those of `tensor`, not of another over its memory."""
        if node.external >= 0:
            external = self.externals[node.external]
            return external is tensor or external == edge_of(tensor)
        return self.segment.is_edge(edge_of(tensor), node)

    def cut_off(self, node: TraceNode) -> TraceNode:
        """The value of `node`, whose gradients flow nowhere."""
        position = self.at()

        def make() -> TraceNode:
            made = TraceNode(self, position, ATTACH, (node,))
            made.spec, made.memory, made.inference = node.spec, node.memory, node.inference
            return made

        return self._counted(self.step((ATTACH, node, "cut off"), make))

    def attach(self, node: TraceNode, external: Any) -> TraceNode:
        """The value of `node` with a gradient that leaves the trace for `external`, if that is."""
        parent = self.at()

        def make() -> TraceNode:
            made = TraceNode(self, parent, ATTACH, (node,))
            made.spec, made.memory = node.spec, node.memory
            made.requires_grad = True
            made.external = -1 if external is None else len(self.externals)
            return made

        made = self.step((ATTACH, node, external is None), make)
        if external is not None:
            self.externals.append(external)
        return self._counted(made)

    def same_leaf(self, value: TraceNode, before: TraceNode) -> TraceNode:
        """New contents of a leaf: gradients leave the trace where they did before."""
        position = self.at()

        def make() -> TraceNode:
            made = TraceNode(self, position, ATTACH, (value,))
            made.spec, made.memory = value.spec, value.memory
            made.requires_grad = True
            made.external = before.external
            return made

        return self._counted(self.step((ATTACH, value, before), make))

    # Results

    def wrap(self, node: TraceNode) -> Any:
        """A pending tensor for `node`."""
        tensor: Any = _bare(pending_class[0])
        tensor._node = node
        self.results.append(tensor)
        self.counted_here()
        return tensor

    def miss(self, entry: Any, args: Any, kwargs: Any, key: Any, numbers: Any) -> Any:
        """A call that was not made here before."""
        return on_miss[0](self, entry, args, kwargs, key, numbers)

    def materialise(self) -> None:
        """Run what was recorded; afterwards nothing of this walk is pending."""
        cutter[0](self, True, "")

    def launch(self, cause: str) -> None:
        """Have what was recorded run; nobody waits for it."""
        cutter[0](self, False, cause)


def has_storage(tensor: Any) -> bool:
    """Whether a storage was made for the tensor; a plain pending result has none."""
    return _is_set(_raw_storage, tensor)


def has_history(tensor: Any) -> bool:
    """Whether the tensor's history was made; a plain pending result has one on demand."""
    return _is_set(_raw_history, tensor)


def slot_of(tensor: Any, name: str) -> Any:
    """A field of a tensor if it was made, else None."""
    slot: Any = TensorBase.__dict__[name]
    return slot.__get__(tensor) if _is_set(slot, tensor) else None


def _is_set(slot: Any, tensor: Any) -> bool:
    try:
        slot.__get__(tensor)
    except AttributeError:
        return False
    return True


pending_class: list[Any] = [TensorBase]
cutter: list[Callable[[Trace, bool, str], None]] = []
on_miss: list[Callable[..., Any]] = []


class _Traces(threading.local):
    def __init__(self) -> None:
        self.current = Trace()


traces = _Traces()
recorder_of_thread[:] = [lambda: traces.current]
