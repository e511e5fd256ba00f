"""Enters: imports of `torch...` and `torchvision...`. Leaves: Thunk's modules, under those names.

Invariant: `torch.a.b` is the very module `thunk.a.b`, unless `thunk.compat.names` has a module of
that path: what PyTorch calls by a name that means something else inside Thunk.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
import types
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec
from typing import Any

from thunk.base.missing import nearest
from thunk.compat.facade import ROOTS, Facade, module_for, say_what_is_missing
from thunk.compat.metadata import distributions


class _Loader:
    """Puts a module that exists into `sys.modules` under another name."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> None:
        """A blank module, which the import system may mark as its own."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Take the blank module's place; the import system returns what stands there."""
        spec = module.__spec__
        assert spec is not None
        sys.modules[spec.name] = self._module
        if isinstance(self._module, Facade):  # the others keep the spec of their own name
            self._module.__spec__ = spec
            self._module.__loader__ = spec.loader


class Finder:
    """Answers for everything below `torch` and `torchvision`."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """How to import `fullname`, if it is PyTorch's."""
        root = fullname.partition(".")[0]
        if root not in ROOTS:
            return None
        module = Facade.of(root) if fullname == root else module_for(fullname)
        if module is None:
            raise _absent(fullname)
        say_what_is_missing(fullname, module)
        loader: Any = _Loader(module)
        return ModuleSpec(fullname, loader, is_package=hasattr(module, "__path__"))

    @staticmethod
    def find_distributions(context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        """The packages that this finder stands for, as `importlib.metadata` asks for them."""
        return distributions(getattr(context, "name", None))


def _absent(fullname: str) -> ModuleNotFoundError:
    parent, _, name = fullname.rpartition(".")
    siblings = [each for each in dir(importlib.import_module(parent)) if not each.startswith("_")]
    found = [f"{parent}.{each}" for each in nearest(name, siblings)]
    hint = f"; the nearest is {' or '.join(found)}" if found else ""
    return ModuleNotFoundError(
        f"No module named '{fullname}': this is Thunk, which does not have it{hint}",
        name=fullname,
    )


def install() -> None:
    """Let `import torch` and `import torchvision` mean Thunk from now on."""
    if is_installed():
        return
    for root in ROOTS:
        present = sys.modules.get(root)
        if present is not None and not _is_stand_in(present):
            raise RuntimeError(
                f"install: expected {root} not to be imported yet, got the real one; call "
                "thunk.compat.install() first"
            )
    _drop()
    sys.meta_path.insert(0, Finder)
    importlib.invalidate_caches()
    for root in ROOTS:
        importlib.import_module(root)


def _is_stand_in(module: types.ModuleType) -> bool:
    """Whether it is the module on the search path of child processes, which calls `install`."""
    return getattr(module, "__thunk__", False) is True


def is_installed() -> bool:
    """Whether `import torch` means Thunk."""
    return Finder in sys.meta_path


def uninstall() -> None:
    """Undo `install`; modules that were imported keep what they have."""
    if is_installed():
        sys.meta_path.remove(Finder)
        _drop()


def _drop() -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in ROOTS:
            del sys.modules[name]
