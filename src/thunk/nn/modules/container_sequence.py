"""Enters: modules in order. Leaves: `Sequential` and `ModuleList`, modules named by position.

Invariant: the names are "0", "1"... in order, also after insertion and deletion.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Self

from thunk.nn.modules.module import Module


def _renumbered(modules: Iterable[Any]) -> dict[str, Any]:
    return {str(place): module for place, module in enumerate(modules)}


class _Sequence(Module):
    """What the two have in common."""

    def __len__(self) -> int:
        return len(self.__dict__["_modules"])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__dict__["_modules"].values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def _name_at(self, index: Any) -> str:
        place = operator.index(index)
        if not -len(self) <= place < len(self):
            raise IndexError(f"index {place} is out of range")
        return str(next(islice(self._modules, place % len(self), None)))

    def __setitem__(self, index: int, module: Any) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        chosen = list(self._modules)[index] if isinstance(index, slice) else [self._name_at(index)]
        for name in chosen:
            delattr(self, name)
        self._modules = _renumbered(self._modules.values())

    def append(self, module: Any) -> Self:
        """Add `module` at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Remove and return what is at `key`."""
        found = self[key]
        del self[key]
        return found

    def __getitem__(self, index: int | slice) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass with __getitem__")

    def _insert(self, place: int, module: Any) -> None:
        modules = self._modules
        start = max(place + len(self), 0) if place < 0 else min(place, len(self))
        for position in range(len(self), start, -1):
            modules[str(position)] = modules[str(position - 1)]
        modules[str(start)] = module


class Sequential(_Sequence):
    """Modules that are called one after the other, each with the result of the one before."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named: Iterable[tuple[str, Any]] = args[0].items()
        else:
            named = ((str(place), module) for place, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """Pass `input` through all modules."""
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name_at(index)]

    def __add__(self, other: Any) -> Sequential:
        return Sequential().extend(self).extend(_sequential(other))

    def __iadd__(self, other: Any) -> Self:
        return self.extend(_sequential(other))

    def __mul__(self, other: int) -> Sequential:
        return Sequential().extend(list(self) * self._factor(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        return self.extend(list(self) * (self._factor(other) - 1))

    def _factor(self, other: int) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other

    def insert(self, index: int, module: Any) -> Self:
        """Put `module` before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._insert(index, module)
        return self

    def extend(self, sequential: Iterable[Any]) -> Self:
        """Add all modules of `sequential` at the end."""
        for module in list(sequential):
            self.append(module)
        return self


def _sequential(other: Any) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"add operator supports only objects of Sequential class, but {type(other)} is given."
        )
    return other


class ModuleList(_Sequence):
    """A list of modules."""

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._name_at(index)]

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Any]) -> Self:
        return self.extend(modules)

    def insert(self, index: int, module: Any) -> None:
        """Put `module` before the one at `index`."""
        self._insert(index, module)

    def extend(self, modules: Iterable[Any]) -> Self:
        """Add all of `modules` at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        runs: list[list[Any]] = []
        for place, text in enumerate(repr(module) for module in self):
            if runs and runs[-1][2] == text:
                runs[-1][1] = place
            else:
                runs.append([place, place, text])
        if not runs:
            return f"{self._get_name()}()"
        body = "\n  ".join(_run_text(*run) for run in runs)
        return f"{self._get_name()}(\n  {body}\n)"


def _run_text(first: int, last: int, text: str) -> str:
    """One line for modules in a row that print alike; unlike in `Module`, blank lines move too."""
    times = "" if first == last else f"{last - first + 1} x "
    places = f"{first}" if first == last else f"{first}-{last}"
    return "\n  ".join(f"({places}): {times}{text}".split("\n"))
