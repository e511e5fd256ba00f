"""Enters: a pending tensor and the name of a field it lacks. Leaves: the field.

Invariant: a pending tensor starts with nothing but its node; everything else is derived when asked
for, so recording pays for none of it.
"""

from __future__ import annotations

from typing import Any

from thunk.lazy.node import TraceNode
from thunk.lazy.record import history_of_node
from thunk.runtime.storage import Storage
from thunk.runtime.tensors import new_counter

FIELDS = frozenset({"_history", "_spec", "_storage", "_versions"})


def fill(tensor: Any, name: str) -> Any:
    """Derive one field of a pending tensor and keep it."""
    node: TraceNode = tensor._node
    value: Any
    if name == "_spec":
        value = tensor._spec = node.spec
    elif name == "_history":
        value = tensor._history = history_of_node(node)
    elif name == "_versions":
        value = tensor._versions = new_counter()
    else:
        value = tensor._storage = _storage_of(tensor, node)
    return value


def _storage_of(tensor: Any, node: TraceNode) -> Storage:
    storage = Storage(None)
    storage.node = node
    storage.home = tensor._spec
    storage.trace = node.trace
    node.trace.storages.append(storage)
    return storage
