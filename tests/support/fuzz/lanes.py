"""Enters: work. Leaves: its result, computed in a thread that has a trace of its own.

Invariant: the shared lane is one thread, so one trie, until something crashed in it; then it is
another, since a broken trace says nothing about the next program.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any


class Lane:
    """A thread that does one piece of work after the other."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                self._done.put((work(), None))
            except BaseException as raised:
                self._done.put((None, raised))
            del work

    def do(self, work: Callable[[], Any]) -> Any:
        """The result of `work`; what it raises is raised here."""
        self._work.put(work)
        value, raised = self._done.get()
        if raised is not None:
            raise raised
        return value

    def close(self) -> None:
        self._work.put(None)


_shared: list[Lane] = []


def in_shared_lane(work: Callable[[], Any]) -> Any:
    """Run where all programs of the process run."""
    if not _shared:
        _shared.append(Lane())
    return _shared[0].do(work)


def leave_shared_lane() -> None:
    """Go on in another thread from now on."""
    while _shared:
        _shared.pop().close()


def in_new_lane(work: Callable[[], Any]) -> Any:
    """Run in a thread of its own."""
    lane = Lane()
    try:
        return lane.do(work)
    finally:
        lane.close()
