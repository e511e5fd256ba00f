"""Enters: a tensor and its storage. Leaves: what a trace takes for its contents, and whose.

Invariant: the home of a storage covers all of its memory, each element once.
"""

from __future__ import annotations

from typing import Any

from thunk.autograd.edges import edge_of
from thunk.lazy.node import leaf_fact
from thunk.runtime.storage import Storage
from thunk.types.spec import TensorSpec, make_spec


def base_of(tensor: Any) -> Any:
    """The base of a view, any other tensor itself."""
    history = tensor._history
    return tensor if history is None or history.base is None else history.base


def owner_of(tensor: Any, storage: Storage) -> Any:
    """The tensor whose history the storage's value carries, None if it shows a part alone."""
    base = base_of(tensor)
    return base if base._spec == storage.home else None


def external_of(tensor: Any) -> Any:
    """What a gradient leaves the trace for: a leaf, or the edge that a result has now."""
    history = tensor._history
    is_result = history.grad_fn is not None or history.base is not None
    return edge_of(tensor) if is_result else tensor


def settle(storage: Storage, spec: TensorSpec, inference: bool) -> None:
    """Choose the geometry in which traces know the contents of a storage."""
    storage.home = home_of(storage, spec)
    storage.plain = leaf_fact(storage.home, False, inference)
    storage.tracked = leaf_fact(storage.home, True, inference)


def home_of(storage: Storage, spec: TensorSpec) -> TensorSpec:
    """The geometry of all of a storage: that of a tensor that shows all of it, or flat."""
    itemsize = spec.dtype.itemsize
    whole = spec.offset == 0 and spec.numel * itemsize == storage.nbytes
    if whole and spec.is_non_overlapping_and_dense():
        return spec
    return make_spec((storage.nbytes // itemsize,), spec.dtype, spec.device)


def home_of_window(spec: TensorSpec) -> TensorSpec:
    """The geometry of memory that goes from the first to the last element of a window."""
    if spec.is_non_overlapping_and_dense():
        return spec
    return make_spec((spec.extent(),), spec.dtype, spec.device)


_MOST_COPIED = 1 << 20  # bytes; more is a window of its storage, at a place that the walk states


def is_small(spec: TensorSpec) -> bool:
    """Whether to copy what a window shows is cheaper than to know where it lies."""
    return spec.extent() - spec.offset <= _MOST_COPIED // spec.dtype.itemsize


def is_part(storage: Storage, spec: TensorSpec) -> bool:
    """Whether a geometry shows less than the whole of a storage whose contents are in memory."""
    memory = storage._data
    return (
        storage.trace is None and memory is not None
        and spec.numel * spec.dtype.itemsize < memory.nbytes
    )  # fmt: skip
