"""What a planted fault is: a name, the ways of running that must show it, and what it replaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fuzz.judge import Mode

Maker = Callable[[Any], Any]


class Fault(NamedTuple):
    """What is planted where: (dotted place, what to make of what is there) pairs."""

    name: str
    modes: tuple[Mode, ...]
    places: tuple[tuple[str, Maker], ...]
