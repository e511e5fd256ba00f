"""Enters: a checkpoint of PyTorch before 1.6. Leaves: the object in it.

Invariant: storages follow the pickle that refers to them, so tensors are filled after they exist.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import IO, Any

from thunk.runtime.storage import Storage, allocate
from thunk.serialization.location import Restore
from thunk.serialization.names import StorageKind
from thunk.tensor.storage import TypedStorage, UntypedStorage, storage_of

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_COUNT_BYTES = 8

Read = Callable[[IO[bytes], Callable[[Any], Any]], Any]


def load(file: IO[bytes], restore: Restore, read: Read) -> Any:
    """The object in a file of four pickles and raw storages."""
    start = file.tell()
    head = file.read(262)
    file.seek(start)
    if head[257:262] == b"ustar":
        raise RuntimeError(
            "load: expected a checkpoint of PyTorch 0.2 or newer, got the older tar format; load "
            "and save it with PyTorch"
        )
    if not head.startswith(b"\x80"):
        raise pickle.UnpicklingError(
            "load: expected a PyTorch checkpoint, got a file that is none; was it downloaded whole?"
        )
    magic, protocol = read(file, _nothing), read(file, _nothing)
    if magic != _MAGIC or protocol != _PROTOCOL:
        raise RuntimeError(
            f"load: expected PyTorch's magic number and protocol {_PROTOCOL}, got Invalid magic "
            f"number or protocol {protocol!r}; corrupt file?"
        )
    system = read(file, _nothing)
    if not system.get("little_endian", True):
        raise RuntimeError("load: expected a little-endian file, got a big-endian one")
    storages = _Storages(restore)
    result = read(file, storages.persistent_load)
    for key in read(file, _nothing):
        storages.fill(str(key), file)
    return result


def _nothing(saved: Any) -> Any:
    raise pickle.UnpicklingError(f"load: expected no reference here, got {saved!r}")


class _Storages:
    """Storages by key, empty until their bytes come."""

    def __init__(self, restore: Restore) -> None:
        self._restore = restore
        self._roots: dict[str, TypedStorage] = {}
        self._memories: dict[str, Storage] = {}
        self._views: dict[str, TypedStorage] = {}

    def persistent_load(self, saved: Any) -> Any:
        """A storage, or the class that old files wrap with its source code."""
        if not isinstance(saved, tuple) or not saved:
            raise pickle.UnpicklingError(f"load: expected a tuple as reference, got {saved!r}")
        if saved[0] == "module":
            return saved[1]
        if saved[0] != "storage" or len(saved) != 6 or not isinstance(saved[1], StorageKind):
            raise pickle.UnpicklingError(f"load: expected a storage's reference, got {saved!r}")
        _, kind, key, location, count, view = saved
        root = self._root(str(key), kind, str(location), int(count))
        return root if view is None else self._view(root, kind, view)

    def _root(self, key: str, kind: StorageKind, location: str, count: int) -> TypedStorage:
        if key not in self._roots:
            memory = Storage(allocate(count * kind.dtype.itemsize))
            self._memories[key] = memory
            public = self._restore(storage_of(memory), location)
            self._roots[key] = TypedStorage(public, kind.dtype)
        return self._roots[key]

    def _view(self, root: TypedStorage, kind: StorageKind, view: Any) -> TypedStorage:
        key, offset, size = view
        if str(key) not in self._views:
            width = kind.dtype.itemsize
            part: UntypedStorage = root.untyped()[offset * width : (offset + size) * width]
            self._views[str(key)] = TypedStorage(part, kind.dtype)
        return self._views[str(key)]

    def fill(self, key: str, file: IO[bytes]) -> None:
        """The bytes of a storage, behind the number of its elements."""
        memory = self._memories[key]
        element = self._roots[key].dtype
        count = int.from_bytes(file.read(_COUNT_BYTES), "little")
        content = file.read(count * element.itemsize)
        data = memory.data
        if data is None or len(content) != data.nbytes:
            raise RuntimeError(
                f"load: expected {0 if data is None else data.nbytes} bytes of storage {key}, "
                f"got {len(content)}; the file is damaged"
            )
        data.data[:] = content
