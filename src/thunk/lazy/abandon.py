"""Enters: a walk for which no plan could be made. Leaves: its tensors spoilt, the thread usable.

Invariant: memory that existed before the walk keeps its contents; results of the walk say why they
have none.
"""

from __future__ import annotations

from typing import Any

from thunk.lazy.metrics import count
from thunk.lazy.run import never_computed
from thunk.lazy.trace import Trace, has_storage
from thunk.runtime.storage import Storage, allocate


class Broken:
    """Stands where a run would: there was none."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def settle(self, storage: Storage) -> None:
        """Say why there are no contents."""
        raise never_computed(self.error)

    def finish(self) -> bool:
        """There is nothing to wait for."""
        return False


def abandon(trace: Trace, error: Exception) -> None:
    """Forget the walk and every path of its trie."""
    count("AbandonedTraces")
    broken = Broken(error)
    for tensor in (*trace.results, *trace.registered):
        if tensor._node is not None:
            _leave(tensor, broken)
    for storage in (*trace.storages, *trace.known):
        if storage.trace is trace and not storage.existed:
            spec: Any = storage.home
            storage._data = allocate(spec.extent() * spec.dtype.itemsize)
            storage.launch = broken
        storage.forget_trace()
    for tensor in trace.registered:
        tensor._storage.forget_trace()
    trace.segment.finish({})
    trace.clear()


def _leave(tensor: Any, broken: Broken) -> None:
    spec = tensor._spec
    tensor._versions, tensor._history  # noqa: B018  (found while pending)
    if not has_storage(tensor):
        storage = Storage(allocate(spec.extent() * spec.dtype.itemsize))
        storage.launch = broken
        tensor._storage = storage
    tensor._node = None
