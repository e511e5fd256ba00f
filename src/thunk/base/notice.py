"""Enters: a change of what later calls mean. Leaves: everyone who remembers calls knows of it.

Invariant: nobody below asks who listens; a listener costs nothing while nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable

listeners: list[Callable[[], None]] = []


def meaning_changed() -> None:
    """Tell that equal calls may mean something else from now on."""
    for listener in listeners:
        listener()
