"""Enters: a switch. Leaves: whether programs run, or results get memory without meaning.

Invariant: off unless somebody measures what tracing costs.
"""

from __future__ import annotations

from typing import Final

enabled: Final[list[bool]] = []


def switch(value: bool) -> None:
    """Turn computing off, or on again."""
    enabled[:] = [True] if value else []
