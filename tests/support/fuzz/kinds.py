"""The table of statement kinds: a grammar module registers a function, the generator draws one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """One class of statements: how often it is drawn, and what writes one."""

    name: str
    weight: float
    write: Callable[[Any], str]


KINDS: dict[str, Kind] = {}


def statement(name: str, weight: float = 1.0) -> Callable[[Callable[[Any], str]], Any]:
    """Register a writer of statements under a class name."""

    def register(write: Callable[[Any], str]) -> Callable[[Any], str]:
        if name in KINDS:
            raise ValueError(f"statement: expected a new kind, got {name!r} twice")
        KINDS[name] = Kind(name, weight, write)
        return write

    return register
