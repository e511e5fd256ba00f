"""Operators that change which memory a tensor looks at: resize_, resize_as_, set_."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.copy.formats import format_strides, suggested_format
from thunk.ops.declare import composite
from thunk.runtime.storage import Storage, allocate
from thunk.runtime.tensors import count_write, forget_value
from thunk.types.layout import preserve_format
from thunk.types.spec import TensorSpec, contiguous_strides


def _expect_constant(self: Any, name: str) -> None:
    if self.requires_grad:
        raise Mismatch(f"cannot {name} variables that require grad; detach() first")


def give_shape(tensor: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Another shape over the same storage, which grows if it must."""
    forget_value(tensor)
    old: TensorSpec = tensor._spec
    new = TensorSpec(tuple(shape), old.dtype, strides, old.offset, old.device)
    storage: Storage = tensor._storage
    needed = new.extent() * new.dtype.itemsize
    if storage.memory is not None and storage.nbytes < needed:
        storage.resize(needed)
    tensor._spec = new


@composite(
    "resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    variants="method",
)
def resize_(self: Any, size: tuple[int, ...], memory_format: Any = None) -> Any:
    """Another shape, row-major; elements that were not there before have any value."""
    _expect_constant(self, "resize")
    if memory_format is preserve_format:
        raise Mismatch(f"Unsupported memory format {memory_format!r}; name an order")
    for each in size:
        if each < 0:
            raise Mismatch(f"Trying to create tensor with negative dimension {each}: {list(size)}")
    count_write(self)
    if size != self._spec.shape or memory_format is not None:
        give_shape(self, size, format_strides(size, memory_format))
    return self


@composite(
    "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None)"
    " -> Tensor(a!)",
    variants="method function",
)
def resize_as_(self: Any, the_template: Any, memory_format: Any = None) -> Any:
    """The shape of `the_template`."""
    _expect_constant(self, "resize")
    template: TensorSpec = the_template._spec
    if memory_format is preserve_format:
        memory_format = suggested_format(template)
    shape = template.shape
    count_write(self)
    if shape != self._spec.shape or memory_format is not None:
        give_shape(self, shape, format_strides(shape, memory_format))
    return self


def _look_at(self: Any, storage: Storage, spec: TensorSpec) -> Any:
    """Make `self` the window `spec` of `storage`."""
    _expect_constant(self, "set")
    if spec.extent() * spec.dtype.itemsize > storage.nbytes and storage.memory is not None:
        storage.resize(spec.extent() * spec.dtype.itemsize)
    count_write(self)
    forget_value(self)
    self._storage = storage
    self._spec = spec
    return self


@composite("set_(Tensor(a!) self) -> Tensor(a!)", variants="method")
def set_nothing_(self: Any) -> Any:
    """No elements, in memory of its own."""
    memory = None if self._storage.memory is None else allocate(0)
    return _look_at(self, Storage(memory), self._spec.with_shape((0,)))


@composite("set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", variants="method")
def set_tensor_(self: Any, source: Any) -> Any:
    """The memory, shape and strides of `source`."""
    _expect_same_kind(self._spec, source._spec)
    return _look_at(self, source._storage, source._spec)


@composite(
    "set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, "
    "SymInt[] size, SymInt[] stride=[]) -> Tensor(a!)",
    variants="method",
)
def set_tensor_window_(
    self: Any, source: Any, storage_offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> Any:
    """A window into the memory of `source`."""
    _expect_same_kind(self._spec, source._spec)
    return _set_window(self, source._storage, storage_offset, size, stride)


@composite(
    "set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)", variants="method"
)
def set_storage_(self: Any, source: Any) -> Any:
    """All of a storage, in one dimension."""
    memory = source.memory
    count = memory.nbytes // self._spec.dtype.itemsize
    return _set_window(self, memory, 0, (count,), (1,))


@composite(
    "set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, SymInt storage_offset, "
    "SymInt[] size, SymInt[] stride=[]) -> Tensor(a!)",
    variants="method",
)
def set_storage_window_(
    self: Any, source: Any, storage_offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> Any:
    """A window into a storage."""
    return _set_window(self, source.memory, storage_offset, size, stride)


def _set_window(self: Any, storage: Any, offset: int, size: Any, stride: Any) -> Any:
    if stride and len(stride) != len(size):
        raise expected("as many strides as sizes", f"{len(stride)} and {len(size)}")
    strides = tuple(stride) or contiguous_strides(tuple(size))
    old: TensorSpec = self._spec
    window = TensorSpec(tuple(size), old.dtype, strides, offset, old.device)
    return _look_at(self, storage, window)


def _expect_same_kind(self: TensorSpec, source: TensorSpec) -> None:
    if self.dtype is not source.dtype:
        raise Mismatch(
            f"Could not set tensor of dtype {source.dtype!r} to a tensor of dtype {self.dtype!r}"
        )
    if self.device != source.device:
        raise Mismatch(f"Could not set tensor on {source.device} to a tensor on {self.device}")
