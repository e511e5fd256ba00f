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
        found = [f"{self.module}.{each}" for each in self.nearest()]
        hint = f"the nearest is {' or '.join(found)}" if found else "nothing there is like it"
        return (
            f"module '{self.module}' has no attribute '{self.name}': this is Thunk, which does not "
            f"have {self.module}.{self.name}; {hint}"
        )


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
