"""Enters: a spec and a storage or array. Leaves: tensors, made without knowing the public class.

Invariant: the public `Tensor` class announces itself once; everything below it builds tensors here.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy

from thunk.base.notice import meaning_changed
from thunk.runtime.storage import Storage, adopt, array_of, storage_for
from thunk.types.dtype import from_numpy_dtype
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import InferenceCounter, TensorBase, VersionCounter

_tensor_class: list[type[TensorBase]] = []
_bare = object.__new__  # the public class makes tensors of data; here they are made of parts


class _Birth(threading.local):
    """How tensors of this thread are born."""

    def __init__(self) -> None:
        self.inference = False

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        meaning_changed()


birth = _Birth()


def new_counter() -> VersionCounter:
    """The write counter of a tensor born now."""
    return counter_of_birth(birth.inference)


def counter_of_birth(inference: bool) -> VersionCounter:
    """The write counter of a tensor that was born in inference mode, or not."""
    return InferenceCounter() if inference else VersionCounter()


def announce_tensor_class(cls: type[TensorBase]) -> None:
    """Called once by the layer that defines the public class."""
    _tensor_class[:] = [cls]


def new_tensor(storage: Storage, spec: TensorSpec, versions: VersionCounter | None = None) -> Any:
    """A tensor without history over `storage`."""
    cls = _tensor_class[0]
    tensor: Any = _bare(cls)
    tensor._spec = spec
    tensor._storage = storage
    tensor._versions = new_counter() if versions is None else versions
    tensor._history = None
    tensor._node = None
    return tensor


def forget_value(tensor: Any) -> None:
    """Before a tensor is made to look elsewhere: what it was recorded as is not its value then."""
    if tensor._node is not None:
        tensor._spec, tensor._storage, tensor._versions, tensor._history  # noqa: B018
        tensor._node.trace.known.append(tensor._storage)  # which the walk no longer finds by it
        tensor._node = None


def count_write(tensor: Any) -> None:
    """A tensor was written to, or looks elsewhere: what was saved of it before is no more."""
    if tensor._node is not None:
        tensor._node.trace.overwrite(tensor._node)
    tensor._versions.value += 1


def empty_tensor(spec: TensorSpec) -> Any:
    """A tensor with uninitialised values."""
    return new_tensor(storage_for(spec), spec)


def tensor_like(array: numpy.ndarray, spec: TensorSpec) -> Any:
    """A tensor of exactly `spec`, holding `array`'s values; takes fresh arrays over."""
    if spec.device.type == "meta":
        return empty_tensor(spec)
    owned = array.base is None and array.flags.owndata and array.dtype == spec.dtype.numpy
    if owned and array.flags.c_contiguous and spec.is_contiguous() and spec.offset == 0:
        flat = array.reshape(-1).view(numpy.uint8) if array.size else array.reshape(0)
        return new_tensor(Storage(flat.view(numpy.uint8)), spec)
    tensor = empty_tensor(spec)
    if array.size:
        array_of(tensor._storage, spec)[...] = array
    return tensor


def tensor_from_array(array: numpy.ndarray) -> Any:
    """A row-major tensor with a copy of `array`'s values."""
    element = from_numpy_dtype(array.dtype)
    copied = numpy.array(array, dtype=element.numpy, order="C", copy=True)
    storage, spec = adopt(copied, resizable=True)
    return new_tensor(storage, spec)


def array_from(tensor: TensorBase) -> numpy.ndarray:
    """The values of `tensor` as an array that shares its memory."""
    return array_of(tensor._storage, tensor._spec)
