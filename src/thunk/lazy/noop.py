"""Enters: a switch. Leaves: whether programs run, or results get memory without meaning.

Invariant: off unless somebody measures what tracing costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

enabled: Final[list[bool]] = []
_memory: dict[Any, Any] = {}


def switch(value: bool) -> None:
    """Turn computing off, or on again."""
    enabled[:] = [True] if value else []
    _memory.clear()


def memory_for(program: Any, make: Callable[[], Any]) -> Any:
    """The results of a program that is not run: the same memory each time, since it means nothing.

    So what is measured is tracing, not the cost of memory.
    """
    found = _memory.get(program)
    if found is None:
        found = _memory[program] = make()
    return found
