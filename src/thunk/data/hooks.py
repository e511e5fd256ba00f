"""Enters: functions of other layers. Leaves: their effect, right before worker processes start.

Invariant: a hook runs in the loader's thread, before the first process of a loader starts; whoever
holds work that a fork would tear apart (pending programs, threads inside a library) finishes it
there.
"""

from __future__ import annotations

from collections.abc import Callable

from thunk.lazy.step import settle_before_fork

before_fork: list[Callable[[], None]] = [settle_before_fork]


def run_before_fork() -> None:
    """Call every hook, in the order of registration."""
    for hook in before_fork:
        hook()
