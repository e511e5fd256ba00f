"""Enters: functions of other layers. Leaves: their effect, right before worker processes start.

Invariant: a hook runs in the loader's thread, before the first process of a loader starts; whoever
holds work that a fork would tear apart (pending programs, threads inside a library) finishes it
there.
"""

from __future__ import annotations

from collections.abc import Callable

from thunk.lazy.trace import traces


def _compute_what_is_pending() -> None:
    """A worker must not run the program that its loader recorded."""
    traces.current.materialise()


before_fork: list[Callable[[], None]] = [_compute_what_is_pending]


def run_before_fork() -> None:
    """Call every hook, in the order of registration."""
    for hook in before_fork:
        hook()
