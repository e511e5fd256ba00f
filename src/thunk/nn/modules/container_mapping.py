"""Enters: modules by name. Leaves: `ModuleDict`.

Invariant: names keep the order in which they were set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from thunk.nn.modules.module import Module


def pairs_of(owner: str, items: Any) -> Iterator[tuple[Any, Any]]:
    """The items of a mapping or of an iterable of pairs, checked."""
    if not isinstance(items, Iterable):
        raise TypeError(
            f"{owner}.update should be called with an iterable of key/value pairs, but got "
            f"{type(items).__name__}"
        )
    if hasattr(items, "items"):
        yield from items.items()
        return
    for place, pair in enumerate(items):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{owner} update sequence element #{place} should be Iterable; is"
                f"{type(pair).__name__}"
            )
        both = tuple(pair)
        if len(both) != 2:
            raise ValueError(
                f"{owner} update sequence element #{place} has length {len(both)}; 2 is required"
            )
        yield both


class ModuleDict(Module):
    """A dictionary of modules."""

    def __init__(self, modules: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove and return the module called `key`."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Set the modules of a mapping, or of an iterable of pairs."""
        for name, module in pairs_of("ModuleDict", modules):
            self[name] = module
