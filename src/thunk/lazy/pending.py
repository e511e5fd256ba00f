"""Enters: a pending tensor and the name of a field it lacks. Leaves: the field.

Invariant: a pending tensor starts with nothing but its node, and a computed one has nothing but
where it came from; everything else is derived when asked for, so steps pay for none of it.
"""

from __future__ import annotations

from typing import Any

from thunk.autograd.edges import ONE_OF_SEVERAL
from thunk.autograd.meta import History
from thunk.autograd.views import mark_view
from thunk.dispatch.state import no_grad_recording
from thunk.lazy.node import TraceNode, leaf_fact
from thunk.lazy.record import OneOf, history_of_node
from thunk.ops.registry import t
from thunk.runtime.storage import Storage
from thunk.runtime.tensors import counter_of_birth

FIELDS = frozenset({"_history", "_origin", "_spec", "_storage", "_versions"})


def fill(tensor: Any, name: str) -> Any:
    """Derive one field of a tensor and keep it."""
    node: TraceNode | None = tensor._node
    value: Any
    if name == "_origin":
        return None
    if name == "_history":
        value = tensor._history = _history_of(tensor, node)
    elif node is None:
        value = _of_result(tensor, name)
    elif name == "_versions":
        value = tensor._versions = counter_of_birth(node.inference)
    elif name == "_spec":
        value = tensor._spec = node.spec
    else:
        value = tensor._storage = _storage_of(tensor, node)
    return value


def _of_result(tensor: Any, name: str) -> Any:
    """A field of a tensor that was computed and not looked at since."""
    origin = tensor._origin
    if type(origin) is not tuple or len(origin) != 4:
        if name == "_versions":
            tensor._versions = counter_of_birth(False)
            return tensor._versions
        raise AttributeError(f"expected a tensor with {name}, got one that was never made")
    segment, result, memory, run = origin
    if name == "_versions":
        tensor._versions = counter_of_birth(result.node.inference)
    elif name == "_spec":
        tensor._spec = result.spec
    else:
        if result.node.inference:
            tensor._versions  # noqa: B018  (found while it is known what the result was)
        tensor._spec = result.spec
        tensor._storage = result.storage(memory, run)
        tensor._origin = None if segment is None else (segment, result.node)
    return getattr(tensor, name)


def _history_of(tensor: Any, node: TraceNode | None) -> History | None:
    origin = tensor._origin
    if origin is None:
        return None if node is None else history_of_node(node, node.trace.segment)
    if type(origin) is tuple:
        segment, producer = origin[:2]
        if len(origin) == 4:
            tensor._origin = (None, *origin[1:])
            producer = producer.node
        else:
            tensor._origin = None
        past: History | None = None if segment is None else history_of_node(producer, segment)
        return past
    tensor._origin = None
    assert node is not None
    several = type(origin) is OneOf
    tensor._history = history_of_node(node, node.trace.segment)
    mark_view(tensor, origin.source if several else origin, node.recording)
    found: History = tensor._history
    if several:
        found.creation = ONE_OF_SEVERAL
    return found


def _storage_of(tensor: Any, node: TraceNode) -> Storage:
    fresh = tensor._spec.fresh()
    if fresh != tensor._spec:  # a name for what a view shows: memory of its own is dense
        tensor._history  # noqa: B018  (found while the node is what it follows from)
        with no_grad_recording(node.requires_grad):
            node = tensor._node = t.relayout(node.trace.wrap(node), fresh.strides)._node
        tensor._spec = fresh
    storage = Storage(None)
    storage.node = node
    storage.home = tensor._spec
    storage.trace = node.trace
    storage.users = 1
    if node.inference:
        storage.plain = leaf_fact(tensor._spec, False, True)
        storage.tracked = leaf_fact(tensor._spec, True, True)
    node.trace.storages.append(storage)
    return storage
