"""Enters: functions of other layers. Leaves: their effect, right before worker processes start.

Invariant: a hook runs in the loader's thread, before the first fork of a loader; whoever holds work
that a fork would tear apart (pending programs, threads inside a library) finishes it there.
"""

from __future__ import annotations

from collections.abc import Callable

before_fork: list[Callable[[], None]] = []


def run_before_fork() -> None:
    """Call every hook, in the order of registration."""
    for hook in before_fork:
        hook()
