"""Enters: a name below `torch`. Leaves: Thunk's object of that name.

Invariant: nothing is listed here; what `thunk` has is what `torch` has, and what lies under
`thunk.compat.names` comes first.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Callable
from typing import Any

from thunk.base.missing import MissingName
from thunk.types.dtype import dtype

# Where each of PyTorch's packages is found: the first place that has the name.
ROOTS: dict[str, tuple[str, ...]] = {
    "torch": ("thunk.compat.names", "thunk"),
    "torchvision": ("thunk.compat.vision_names", "thunk.vision"),
}

# PyTorch's name, Thunk's place, where the two differ.
RENAMED = {
    "torch._lazy": "thunk.lazy",
    "torch._tensor": "thunk.tensor.tensor",
    "torch._tensor_str": "thunk.tensor.printing",
    "torch.autograd.anomaly_mode": "thunk.autograd.anomaly",
    "torch.autograd.grad_mode": "thunk.autograd.modes",
    "torch.cuda.amp.autocast_mode": "thunk.cuda.amp",
    "torch.cuda.amp.grad_scaler": "thunk.cuda.amp",
    "torch.cuda.memory": "thunk.cuda",
    "torch.cuda.random": "thunk.cuda",
    "torch.functional": "thunk",
    "torch.storage": "thunk.tensor.storage",
    "torch.utils._pytree": "thunk.base.pytree",
}

# Packages of Thunk whose names mean something else in PyTorch, or nothing.
INTERNAL = frozenset({
    "base", "types", "ir", "runtime", "dispatch", "compiler", "backends", "tensor",
    "data", "vision", "parallel", "capture", "compat", "debug", "assembly",
})  # fmt: skip


def module_for(fullname: str) -> types.ModuleType | None:
    """The module that PyTorch calls `fullname`, None if Thunk has none."""
    root, _, rest = fullname.partition(".")
    for theirs, ours in RENAMED.items():
        if fullname == theirs or fullname.startswith(f"{theirs}."):
            return _imported(ours + fullname.removeprefix(theirs))
    for place in ROOTS[root]:
        if place == "thunk" and rest.partition(".")[0] in INTERNAL:
            continue
        found = _imported(f"{place}.{rest}")
        if found is not None:
            return found
    return None


def _imported(name: str) -> types.ModuleType | None:
    known = sys.modules.get(name)
    if known is not None:
        return known
    try:
        if importlib.util.find_spec(name) is None:
            return None
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            return None
        raise
    return importlib.import_module(name)


class Facade(types.ModuleType):
    """The module `torch` or `torchvision`: looks names up in Thunk and remembers them."""

    @staticmethod
    def of(root: str) -> Facade:
        """The one facade of that name."""
        if root not in _facades:
            _facades[root] = Facade(root)
        return _facades[root]

    def __init__(self, root: str) -> None:
        super().__init__(root, f"Thunk under the name {root}.")
        places = [place for place in ROOTS[root] if _imported(place) is not None]
        vars(self)["_places"] = [importlib.import_module(place) for place in places]
        vars(self)["__path__"] = []
        vars(self)["__file__"] = vars(self)["_places"][-1].__file__

    @property
    def __all__(self) -> list[str]:
        """What `from torch import *` takes."""
        taken = {name for name in dir(self) if not name.startswith("_")}
        # A star import shall not hide `float` and its like behind dtypes.
        return sorted(
            name for name in taken
            if not isinstance(getattr(self, name), (types.ModuleType, dtype))
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        for place in vars(self)["_places"]:
            if place.__name__ == "thunk" and _is_internal(name, vars(place).get(name)):
                continue
            if name in vars(place):
                found = vars(place)[name]
                break
        else:
            found = None if name.startswith("__") else module_for(f"{self.__name__}.{name}")
            if found is None:
                raise MissingName(self.__name__, name, lambda: dir(self))
        if isinstance(found, types.ModuleType):
            say_what_is_missing(f"{self.__name__}.{name}", found)
        vars(self)[name] = found
        return found

    def __dir__(self) -> list[str]:
        names = {name for name in vars(self) if name != "_places"}
        for place in vars(self)["_places"]:
            inside = {
                name for name, value in vars(place).items()
                if place.__name__ != "thunk" or not _is_internal(name, value)
            }  # fmt: skip
            names |= inside
        return sorted(names)

    def __repr__(self) -> str:
        return f"<module '{self.__name__}' (Thunk)>"


def say_what_is_missing(fullname: str, module: types.ModuleType) -> None:
    """Let missing names of the module, and of those inside it, be reported in PyTorch's words."""
    if "__getattr__" in vars(module):
        return
    vars(module)["__getattr__"] = reporter(fullname, module)
    for name, value in list(vars(module).items()):
        if isinstance(value, types.ModuleType) and value.__name__ == f"{module.__name__}.{name}":
            say_what_is_missing(f"{fullname}.{name}", value)


def reporter(fullname: str, module: types.ModuleType) -> Callable[[str], Any]:
    """A `__getattr__` for a module."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module '{fullname}' has no attribute '{name}'")
        raise MissingName(fullname, name, lambda: vars(module))

    return __getattr__


def _is_internal(name: str, value: Any) -> bool:
    return name in INTERNAL and isinstance(value, types.ModuleType)


_facades: dict[str, Facade] = {}
