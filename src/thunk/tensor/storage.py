"""Enters: the memory behind tensors. Leaves: PyTorch's view of it, `UntypedStorage` and its kin.

Invariant: one memory has one `UntypedStorage` as long as anybody holds it, so `is` compares memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy

from thunk.base.errors import expected
from thunk.ir.coerce import announce_class
from thunk.runtime.storage import Storage, allocate
from thunk.types.device import CPU, META, device
from thunk.types.dtype import dtype, uint8
from thunk.types.tensor_base import TensorBase


class UntypedStorage:
    """A block of bytes that tensors look into."""

    __slots__ = ("__weakref__", "memory")

    def __init__(self, size: int = 0, *, device: Any = None) -> None:
        self.memory = Storage(numpy.zeros(int(size), numpy.uint8))

    def _bytes(self) -> numpy.ndarray:
        self.memory.share()
        data = self.memory.data
        if data is None:
            raise NotImplementedError(
                "UntypedStorage: expected memory, got a meta storage; create it on the cpu"
            )
        return data

    def data_ptr(self) -> int:
        """The address of the first byte; 0 if there is none."""
        data = self.memory.data
        self.memory.pinned = True
        return 0 if data is None or not data.nbytes else int(data.ctypes.data)

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.memory.nbytes

    size = nbytes

    def __len__(self) -> int:
        return self.memory.nbytes

    @property
    def device(self) -> device:
        return META if self.memory.memory is None else CPU

    @property
    def is_cuda(self) -> bool:
        return False

    @property
    def is_sparse(self) -> bool:
        return False

    @property
    def _cdata(self) -> int:
        return id(self.memory)

    def resizable(self) -> bool:
        """Whether the memory is the framework's own."""
        return self.memory.resizable

    def resize_(self, size: int) -> UntypedStorage:
        """Grow or shrink; the bytes that remain keep their values."""
        self.memory.resize(int(size))
        return self

    def __getitem__(self, index: Any) -> Any:
        found = self._bytes()[index]
        if not isinstance(index, slice):
            return int(found)
        made = UntypedStorage()
        made.memory = Storage(found)
        return made

    def __setitem__(self, index: Any, value: Any) -> None:
        self._bytes()[index] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return self._bytes().tolist()  # type: ignore[no-any-return]  # one dimension: a list

    def fill_(self, value: int) -> UntypedStorage:
        """One value in every byte."""
        self._bytes()[:] = value
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """The bytes of `source`."""
        if source.nbytes() != self.nbytes():
            raise expected(f"{self.nbytes()} bytes", source.nbytes()).named("copy_")
        self._bytes()[:] = source._bytes()
        return self

    def clone(self) -> UntypedStorage:
        """A copy."""
        made = UntypedStorage()
        fresh = allocate(self.nbytes())
        fresh[:] = self._bytes()
        made.memory = Storage(fresh)
        return made

    def cpu(self) -> UntypedStorage:
        """This storage, which is on the CPU."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return storage_of, (self.memory,)

    def __repr__(self) -> str:
        lines = "".join(f" {value}\n" for value in self.tolist())
        return f"{lines}[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"


_alive: weakref.WeakKeyDictionary[Storage, weakref.ref[UntypedStorage]] = (
    weakref.WeakKeyDictionary()
)


def storage_of(memory: Storage) -> UntypedStorage:
    """The public storage of a block of memory."""
    if memory.trace is not None:
        memory.trace.materialise()  # from here on its owner may be this object alone
    found = _alive.get(memory)
    public = None if found is None else found()
    if public is None:
        public = UntypedStorage.__new__(UntypedStorage)
        public.memory = memory
        _alive[memory] = weakref.ref(public)
    return public


class TypedStorage:
    """A block of elements of one dtype: the older form of `UntypedStorage`."""

    __slots__ = ("_untyped_storage", "dtype")

    def __init__(self, untyped: UntypedStorage, element: dtype = uint8) -> None:
        self._untyped_storage = untyped
        self.dtype = element

    def _elements(self) -> numpy.ndarray:
        whole = self._untyped_storage._bytes()
        return whole[: len(self) * self.dtype.itemsize].view(self.dtype.numpy)

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._untyped_storage

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def __len__(self) -> int:
        return self.nbytes() // self.dtype.itemsize

    def size(self) -> int:
        """The number of elements."""
        return len(self)

    @property
    def device(self) -> device:
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        return False

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def __getitem__(self, index: int) -> Any:
        return self._elements()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """The elements as numbers."""
        return self._elements().tolist()  # type: ignore[no-any-return]  # one dimension: a list

    def resize_(self, size: int) -> TypedStorage:
        """Grow or shrink to `size` elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def __repr__(self) -> str:
        lines = "".join(f" {value}\n" for value in self.tolist())
        return (
            f"{lines}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) "
            f"of size {len(self)}]"
        )


class Stored(TensorBase):
    """A tensor's way to its memory."""

    __slots__ = ()

    def untyped_storage(self) -> UntypedStorage:
        """The memory that this tensor looks into."""
        return storage_of(self._storage)

    def storage(self) -> TypedStorage:
        """The memory that this tensor looks into, as elements of its dtype."""
        return TypedStorage(storage_of(self._storage), self._spec.dtype)

    _typed_storage = storage

    def data_ptr(self) -> int:
        """The address of the first element; 0 if there is none."""
        start = storage_of(self._storage).data_ptr()
        return start + self._spec.offset * self._spec.dtype.itemsize if start else 0

    const_data_ptr = data_ptr


def is_storage(obj: object) -> bool:
    """Whether `obj` is a storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


announce_class("Storage", UntypedStorage)
