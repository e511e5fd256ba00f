"""Enters: globals as PyTorch's checkpoints name them. Leaves: Thunk's objects, and the way back.

Invariant: `torch.a.b` in a file is `thunk.a.b` here; what a file may build is decided elsewhere.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from thunk.tensor.tensor import Tensor
from thunk.types import dtype as dtypes
from thunk.types.device import device
from thunk.types.dtype import dtype
from thunk.types.size import Size

# The storage classes that PyTorch's files name; newer dtypes are stored as bytes.
_STORAGES = {
    "DoubleStorage": dtypes.float64, "FloatStorage": dtypes.float32, "HalfStorage": dtypes.float16,
    "LongStorage": dtypes.int64, "IntStorage": dtypes.int32, "ShortStorage": dtypes.int16,
    "CharStorage": dtypes.int8, "ByteStorage": dtypes.uint8, "BoolStorage": dtypes.bool_,
    "BFloat16Storage": dtypes.bfloat16, "ComplexDoubleStorage": dtypes.complex128,
    "ComplexFloatStorage": dtypes.complex64,
}  # fmt: skip
_STORAGE_NAMES = {element: name for name, element in _STORAGES.items()}

_ROOTS = {"torch": "thunk", "torchvision": "thunk.vision"}
_MOVED = {
    "torch.tensor": "torch._tensor",  # PyTorch's own move, of 2021
    "torch._C._nn": "torch.nn.functional",  # functions that are written in C++ there
    "torch._C._special": "torch.special",
    "torch._C._VariableFunctions": "torch",
}


class GlobalName:
    """A global that a file names and that need not exist in this process."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self}: expected to be written into a file, got a call")

    def __reduce__(self) -> tuple[Any, ...]:
        return meaning, (self.module, self.name)

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


_names: dict[tuple[str, str], GlobalName] = {}


def global_name(module: str, name: str) -> GlobalName:
    """The one `GlobalName` of that spelling, so that a pickle mentions it once."""
    return _names.setdefault((module, name), GlobalName(module, name))


class StorageKind:
    """The class of a storage in a file: the dtype of its elements."""

    __slots__ = ("dtype", "name")

    def __init__(self, name: str, element: dtype) -> None:
        self.name = name
        self.dtype = element

    def __repr__(self) -> str:
        return f"torch.{self.name}"


def storage_kind(module: str, name: str) -> StorageKind | None:
    """The storage class `module.name`, if it is one."""
    if module in ("torch", "torch.cuda") and name in _STORAGES:
        return StorageKind(name, _STORAGES[name])
    if (module, name) in (("torch.storage", "UntypedStorage"), ("torch", "UntypedStorage")):
        return StorageKind(name, dtypes.uint8)
    return None


def storage_name(element: dtype) -> GlobalName | None:
    """The storage class of a dtype, None if PyTorch stores it as bytes."""
    known = _STORAGE_NAMES.get(element)
    return None if known is None else global_name("torch", known)


UNTYPED = global_name("torch.storage", "UntypedStorage")


def dtype_of_name(name: str) -> dtype | None:
    """The dtype that the global `torch.name` is, if it is one."""
    return next((each for each in dtypes.all_dtypes() if each.name == name), None)


_builders: dict[str, Callable[..., Any]] = {}  # full name in a file: what builds it here


def builder(full_name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Announce the function that stands for a global of PyTorch's files."""

    def announce(function: Callable[..., Any]) -> Callable[..., Any]:
        _builders[full_name] = function
        return function

    return announce


def builders() -> dict[str, Callable[..., Any]]:
    """Every announced builder by its name in a file."""
    return _builders


def is_ours(module: str) -> bool:
    """Whether a global of that module means something of PyTorch, hence of Thunk."""
    return module.partition(".")[0] in ("torch", "torchvision", "thunk")


def our_module(module: str) -> str:
    """`torch.nn` is `thunk.nn`."""
    root, dot, rest = _MOVED.get(module, module).partition(".")
    return _ROOTS.get(root, root) + dot + rest


def their_module(module: str) -> str:
    """`thunk.nn` is `torch.nn`."""
    if module == "thunk.vision" or module.startswith("thunk.vision."):
        return "torchvision" + module.removeprefix("thunk.vision")
    root, dot, rest = module.partition(".")
    return ("torch" if root == "thunk" else root) + dot + rest


def meaning(module: str, name: str) -> Any:
    """What a global of PyTorch's files stands for; AttributeError if there is no such thing."""
    found: Any = storage_kind(module, name) or _builders.get(f"{module}.{name}")
    if found is None and module == "torch":
        found = dtype_of_name(name)
    return find_ours(module, name, imports=True) if found is None else found


def find_ours(module: str, name: str, imports: bool) -> Any:
    """Thunk's object behind `torch.module.name`; AttributeError if there is none.

    Only with `imports` is a module loaded that nobody asked for yet. PyTorch writes the module
    that defines a class; if that is elsewhere here, the package around it is asked.
    """
    if name == "Tensor" and module in ("torch", "torch._tensor", "thunk"):
        return Tensor
    for announced in (Size, device):
        if name == announced.__name__ and module in ("torch", announced.__module__):
            return announced
    place = our_module(module)
    while place:
        found = _attribute(place, name, imports)
        if found is not None:
            return found
        place = place.rpartition(".")[0] if place.count(".") > 1 else ""
    raise AttributeError(f"Thunk has no {module}.{name}")


def _attribute(module: str, qualified: str, imports: bool) -> Any:
    found: Any = sys.modules.get(module)
    if found is None and imports:
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name):
                raise
            return None
    for part in qualified.split("."):
        found = getattr(found, part, None)
    return found


def name_of(obj: Any) -> tuple[str, str] | None:
    """Under which global PyTorch knows an object of Thunk; None for everything else."""
    if isinstance(obj, GlobalName):
        return obj.module, obj.name
    if obj is Tensor:
        return "torch", "Tensor"
    if obj in (Size, device):
        return "torch", obj.__name__
    module = getattr(obj, "__module__", None)
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if module.partition(".")[0] != "thunk":
        return None
    return their_module(_home(obj, module, name)), name


def _home(obj: Any, module: str, name: str) -> str:
    """The outermost package that offers `obj`: PyTorch may define it elsewhere within."""
    parts = module.split(".")
    outer = [".".join(parts[:count]) for count in range(1, len(parts))]
    return next((each for each in outer if _attribute(each, name, imports=False) is obj), module)
