"""Enters: a checkpoint of PyTorch or Thunk. Leaves: the object in it.

Invariant: unless the user writes `weights_only=False`, nothing that the file asks for is run.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from thunk.runtime.storage import Bytes, Storage
from thunk.serialization import legacy
from thunk.serialization.archive import Reader, check_byte_order, is_archive, mapped
from thunk.serialization.location import Restore, restorer
from thunk.serialization.machine import Machine
from thunk.serialization.names import StorageKind, is_ours, meaning
from thunk.serialization.safetensors import load_file
from thunk.tensor.storage import TypedStorage, storage_of

_YES = frozenset({"1", "y", "yes", "true"})


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load an object that `save` wrote, here or in PyTorch.

    By default only tensors, plain containers, `nn` modules of Thunk itself and what
    `add_safe_globals` allowed are built. `weights_only=False` unpickles anything, and may thereby
    run any code that the file's author wished.
    """
    safe = _is_safe(weights_only, pickle_module)
    if safe and pickle_module is not None:
        raise RuntimeError(
            "load: expected no pickle_module with weights_only=True, got one; Can not safely load "
            "weights when explicit pickle_module is specified"
        )
    restore = restorer(map_location)
    if isinstance(f, (str, os.PathLike)) and os.fspath(f).endswith(".safetensors"):
        return load_file(f, device="cpu" if map_location is None else map_location)
    with _opened(f) as file:
        if not is_archive(file):
            if mmap:
                raise RuntimeError(
                    "load: expected a zip checkpoint for mmap=True, got the older format; "
                    "save it again"
                )
            return legacy.load(file, restore, _reader(safe, pickle_module, pickle_load_args))
        if mmap and not isinstance(f, (str, os.PathLike)):
            raise ValueError("load: f must be a file path in order to use the mmap argument")
        whole = mapped(f) if mmap and isinstance(f, (str, os.PathLike)) else None
        archive = Reader(file)
        if archive.has("constants.pkl"):
            raise RuntimeError(
                "load: expected a checkpoint, got a TorchScript archive; export its state_dict "
                "with PyTorch"
            )
        if archive.has("byteorder"):
            check_byte_order(archive.read("byteorder"))
        storages = _Storages(archive, restore, whole)
        read = _reader(safe, pickle_module, pickle_load_args)
        return read(io.BytesIO(archive.read("data.pkl")), storages.persistent_load)


def _is_safe(weights_only: bool | None, pickle_module: Any) -> bool:
    forced = os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _YES
    freed = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _YES
    if forced and freed:
        raise RuntimeError(
            "load: expected one of TORCH_FORCE_WEIGHTS_ONLY_LOAD and "
            "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD, got both; unset one"
        )
    if forced:
        return True
    if weights_only is None and freed:
        warnings.warn(
            "load: TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD is set: the file may run code", stacklevel=3
        )
        return False
    return pickle_module is None if weights_only is None else bool(weights_only)


@contextlib.contextmanager
def _opened(f: Any) -> Iterator[IO[bytes]]:
    if isinstance(f, (str, os.PathLike)):
        with Path(f).open("rb") as file:
            yield file
        return
    missing = [name for name in ("read", "seek", "tell") if not hasattr(f, name)]
    if missing:
        raise AttributeError(
            f"load: expected a path or a file object with {', '.join(missing)}, got "
            f"{type(f).__name__}; You can only load from a file that is seekable. Please "
            "pre-load the data into a buffer like io.BytesIO"
        )
    yield f


PersistentLoad = Callable[[Any], Any]
Read = Callable[[IO[bytes], PersistentLoad], Any]


def _reader(safe: bool, module: Any, arguments: dict[str, Any]) -> Read:
    """What turns a pickle into an object."""
    if safe:
        return lambda file, persistent_load: Machine(persistent_load).load(file)
    base = (pickle if module is None else module).Unpickler

    def find_class(self: Any, module: str, name: str) -> Any:
        if not is_ours(module):
            return base.find_class(self, module, name)
        try:
            return meaning(module, name)
        except AttributeError:
            # A module of the user's own may be called torch-something: let Python decide.
            return base.find_class(self, module, name)

    def read(file: IO[bytes], persistent_load: PersistentLoad) -> Any:
        members = {
            "find_class": find_class,
            "persistent_load": lambda self, saved: persistent_load(saved),
        }
        return type("Unpickler", (base,), members)(file, **arguments).load()

    return read


class _Storages:
    """The storages of an archive, each read once."""

    def __init__(self, archive: Reader, restore: Restore, whole: Bytes | None) -> None:
        self._archive = archive
        self._restore = restore
        self._whole = whole
        self._loaded: dict[str, Any] = {}

    def persistent_load(self, saved: Any) -> TypedStorage:
        """The storage that a pickle refers to."""
        kind, key, location, count = storage_reference(saved, 5)
        if key not in self._loaded:
            nbytes = count * kind.dtype.itemsize
            public = storage_of(Storage(*self._memory(f"data/{key}", nbytes)))
            self._loaded[key] = self._restore(public, location)
        return TypedStorage(self._loaded[key], kind.dtype)

    def _memory(self, name: str, nbytes: int) -> tuple[Bytes, bool, bool]:
        if self._whole is None:
            return self._archive.read_memory(name, nbytes), True, False
        start = self._archive.place(name, nbytes)
        return self._whole[start : start + nbytes], False, True


def storage_reference(saved: Any, length: int) -> tuple[Any, ...]:
    """The parts of a persistent id behind the word `storage`."""
    if not isinstance(saved, tuple) or len(saved) != length or _text(saved[0]) != "storage":
        raise pickle.UnpicklingError(
            f"load: expected references to storages, got {saved!r}; the file is damaged"
        )
    kind, key, location, *rest = saved[1:]
    count = rest[0]
    if not isinstance(kind, StorageKind) or type(count) is not int or count < 0:
        raise pickle.UnpicklingError(
            f"load: expected a storage's dtype and size, got {kind!r} and {count!r}"
        )
    return kind, _text(key), _text(location), *rest


def _text(value: Any) -> Any:
    return value.decode("ascii") if isinstance(value, bytes) else value
