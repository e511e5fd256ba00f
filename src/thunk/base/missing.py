"""Enters: a name that a module does not have. Leaves: an error that names its nearest relatives.

Invariant: the words are made when somebody reads them, so `hasattr` costs no search.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

Known = Callable[[], Iterable[str]]


class MissingName(AttributeError):
    """A name of PyTorch that Thunk does not have."""

    def __init__(self, module: str, name: str, known: Known) -> None:
        super().__init__(module, name)
        self.module = module
        # Python's own suggestion would repeat ours: it needs `obj`, which stays unset.
        self.name = name
        self._wanted = name
        self._known = known

    def nearest(self) -> list[str]:
        """The names of the module that look most alike, best first."""
        return nearest(self._wanted, self._known())

    def __str__(self) -> str:
        return f"{self._complaint()}: {missing(self.module, self._wanted, self._known())}"

    def _complaint(self) -> str:
        return f"module '{self.module}' has no attribute '{self.name}'"


class MissingMember(MissingName):
    """A name that objects of a class do not have."""

    def _complaint(self) -> str:
        return f"'{self.module}' object has no attribute '{self.name}'"


def missing(place: str, name: str, known: Iterable[str]) -> str:
    """That Thunk lacks a name of `place`, and what is most like it there."""
    found = [f"{place}.{each}" for each in nearest(name, known)]
    hint = f"the nearest is {' or '.join(found)}" if found else "nothing there is like it"
    return f"this is Thunk, which does not have {place}.{name}; {hint}"


def nearest(name: str, known: Iterable[str], count: int = 2) -> list[str]:
    """The public names most like `name`, letters' case aside."""
    by_lower: dict[str, str] = {}
    for each in sorted(known):
        if not each.startswith("_"):
            by_lower.setdefault(each.lower(), each)
    exact = by_lower.get(name.lower())
    if exact is not None:
        return [exact]
    close = difflib.get_close_matches(name.lower(), by_lower, n=count, cutoff=0.6)
    return [by_lower[each] for each in close]
