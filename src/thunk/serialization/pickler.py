"""Enters: an object. Leaves: its pickle as PyTorch writes it, and the storages it refers to.

Invariant: everything of Thunk is named as PyTorch names it; memory that is shared is stored once.
"""

from __future__ import annotations

import io
import pickle
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, ClassVar

from thunk.autograd.meta import requires_grad
from thunk.base.errors import expected
from thunk.runtime.storage import Storage
from thunk.serialization.names import UNTYPED, GlobalName, global_name, name_of, storage_name
from thunk.serialization.rebuild import parameter_class
from thunk.tensor.copies import Copies
from thunk.tensor.legacy import LegacyType
from thunk.tensor.storage import TypedStorage, UntypedStorage
from thunk.types.device import device
from thunk.types.dtype import dtype, uint8
from thunk.types.size import Size
from thunk.types.tensor_base import TensorBase

_UTILS = "torch._utils"


class Storages:
    """The storages that a pickle refers to, numbered in order of appearance."""

    def __init__(self) -> None:
        self.memories: list[Storage] = []
        self._numbers: dict[int, int] = {}
        self._dtypes: dict[int, dtype] = {}

    def reference(self, memory: Storage, element: dtype, kind: GlobalName) -> tuple[Any, ...]:
        """What stands in the pickle in place of the memory."""
        key = id(memory)
        if key not in self._numbers:
            self._numbers[key] = len(self.memories)
            self.memories.append(memory)
            self._dtypes[key] = element
        elif self._dtypes[key] is not element and memory.nbytes:
            raise RuntimeError(
                "save: expected one dtype for each storage, got Cannot save multiple tensors or "
                f"storages that view the same data as different types ({self._dtypes[key]!r} and "
                f"{element!r}); clone() one of them"
            )
        count = memory.nbytes // element.itemsize
        return "storage", kind, str(self._numbers[key]), "cpu", count


class _Window:
    """A tensor's memory, as the pickle mentions it: a persistent id."""

    __slots__ = ("element", "kind", "memory")

    def __init__(self, memory: Storage, element: dtype, kind: GlobalName) -> None:
        self.memory = memory
        self.element = element
        self.kind = kind


def _window_of(tensor: TensorBase) -> _Window:
    element = tensor._spec.dtype
    kind = storage_name(element)
    if kind is None:
        return _Window(tensor._storage, uint8, UNTYPED)
    return _Window(tensor._storage, element, kind)


def persistent_id(obj: Any, storages: Storages) -> Any:
    """The reference to a storage; None for every other object."""
    if isinstance(obj, _Window):
        return storages.reference(obj.memory, obj.element, obj.kind)
    if isinstance(obj, UntypedStorage):
        return storages.reference(obj.memory, uint8, UNTYPED)
    if isinstance(obj, TypedStorage):
        kind = storage_name(obj.dtype)
        memory = obj.untyped().memory
        return storages.reference(memory, obj.dtype if kind else uint8, kind or UNTYPED)
    return None


def reduced(obj: Any) -> Any:
    """How an object of Thunk is rebuilt; NotImplemented for every other object."""
    if isinstance(obj, TensorBase):
        # A class with a way of its own, as parameters without values have, goes it.
        plain = type(obj).__reduce_ex__ is Copies.__reduce_ex__
        return _tensor(obj) if plain else NotImplemented
    if isinstance(obj, Size):
        return global_name("torch", "Size"), (tuple(obj),)
    if isinstance(obj, device):
        parts = (obj.type,) if obj.index is None else (obj.type, obj.index)
        return global_name("torch", "device"), parts
    if isinstance(obj, dict) and type(obj).__module__.startswith("thunk."):
        # Tables that tell their module of changes; the module makes new ones when it is loaded.
        return OrderedDict if isinstance(obj, OrderedDict) else dict, (), None, None, _items(obj)
    return NotImplemented


def _items(table: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    return iter(table.items())


def _tensor(tensor: TensorBase) -> tuple[Any, ...]:
    data, attributes = _plain(tensor), dict(vars(tensor))
    cls = type(tensor)
    parameter = parameter_class()
    if parameter is not None and cls is parameter:
        arguments: tuple[Any, ...] = (data, requires_grad(tensor), OrderedDict())
        if attributes:
            name = "_rebuild_parameter_with_state"
            return global_name(_UTILS, name), (*arguments, attributes)
        return global_name(_UTILS, "_rebuild_parameter"), arguments
    if name_of(cls) == ("torch", "Tensor") and not attributes:
        return data.build, data.arguments
    build = global_name("torch._tensor", "_rebuild_from_type_v2")
    return build, (data.build, cls, data.arguments, attributes)


class _Plain:
    """A tensor's values without its class and attributes."""

    __slots__ = ("arguments", "build")

    def __init__(self, build: GlobalName, arguments: tuple[Any, ...]) -> None:
        self.build = build
        self.arguments = arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.build, self.arguments


def _plain(tensor: TensorBase) -> _Plain:
    spec, asks = tensor._spec, requires_grad(tensor)
    history = tensor._history
    if history is not None and history.hooks:
        warnings.warn(
            "save: expected a tensor without backward hooks, got some; backward hooks are not "
            "stored, register them again after loading",
            UserWarning,
            stacklevel=2,
        )
    if spec.device.type == "meta":
        build = global_name(_UTILS, "_rebuild_meta_tensor_no_storage")
        return _Plain(build, (spec.dtype, tuple(spec.shape), tuple(spec.strides), asks))
    window = _window_of(tensor)
    place = (spec.offset, tuple(spec.shape), tuple(spec.strides))
    arguments: tuple[Any, ...] = (window, *place, asks, OrderedDict())
    if window.kind is UNTYPED:
        return _Plain(global_name(_UTILS, "_rebuild_tensor_v3"), (*arguments, spec.dtype))
    return _Plain(global_name(_UTILS, "_rebuild_tensor_v2"), arguments)


class _Pickler(pickle._Pickler):
    """Python's pickler in Python: the one in C cannot be told how to name a global."""

    dispatch: ClassVar[dict[type, Any]] = dict(pickle._Pickler.dispatch)

    write: Callable[[bytes], None]
    memoize: Callable[[Any], None]

    def __init__(self, file: io.BytesIO, protocol: int, storages: Storages) -> None:
        super().__init__(file, protocol)
        self._storages = storages

    def persistent_id(self, obj: Any) -> Any:
        return persistent_id(obj, self._storages)

    def reducer_override(self, obj: Any) -> Any:
        return reduced(obj)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """A global by PyTorch's name if it has one, else by its own."""
        theirs = name_of(obj)
        if theirs is None:
            super().save_global(obj, name)  # type: ignore[misc]  # typeshed leaves it out
            return
        self._write_global(obj, *theirs)

    def _write_global(self, obj: Any, module: str, name: str) -> None:
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def save_dtype(self, obj: dtype) -> None:
        """A dtype is a global of its own."""
        self._write_global(obj, "torch", obj.name)

    def save_legacy_type(self, obj: LegacyType) -> None:
        """So is a tensor type of old."""
        self._write_global(obj, "torch", obj.__name__)

    def save_class(self, obj: type) -> None:
        """A class; those of Python's constants have no name."""
        if obj in (type(None), type(NotImplemented), type(...)):
            super().save_type(obj)  # type: ignore[misc]  # typeshed leaves it out
        else:
            self.save_global(obj)

    dispatch |= {
        dtype: save_dtype,
        LegacyType: save_legacy_type,
        type: save_class,
        GlobalName: save_global,
        FunctionType: save_global,
    }


def pickled(obj: Any, protocol: int, storages: Storages) -> bytes:
    """The pickle of an object; storages are collected."""
    if protocol < 2:
        raise expected("pickle_protocol 2 or more", protocol, kind=ValueError).named("save")
    buffer = io.BytesIO()
    _Pickler(buffer, protocol, storages).dump(obj)
    return buffer.getvalue()


def pickled_by(module: Any, obj: Any, protocol: int, storages: Storages) -> bytes:
    """The same with a pickler of the user's choice, which names globals as they are named here."""

    def identify(self: Any, each: Any) -> Any:
        return persistent_id(each, storages)

    def reduce(self: Any, each: Any) -> Any:
        found = reduced(each)
        if found is NotImplemented:
            inherited: Callable[..., Any] = getattr(
                super(made, self), "reducer_override", lambda _: NotImplemented
            )
            return inherited(each)
        return found

    made = type(
        "Pickler", (module.Pickler,), {"persistent_id": identify, "reducer_override": reduce}
    )
    buffer = io.BytesIO()
    made(buffer, protocol=protocol).dump(obj)
    return buffer.getvalue()
