"""Enters: executions and compiles as they happen, with their causes. Leaves: an account of those of
a `with` block, or an exception at the one that was forbidden.

Invariant: what one thread watches or forbids, no other thread notices; nothing was executed or
compiled yet when a forbidden one raises. Where nobody watches, a note costs one look.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, NamedTuple

from thunk.lazy.metrics import counter_names

EXECUTION: Final = "execution"
COMPILE: Final = "compile"


class Event(NamedTuple):
    """One execution or compile: why and at which line of the user's it happened.

    `difference` says of a compile what differed from the nearest that was known; a text or a
    function that finds it, because nobody may ask.
    """

    kind: str
    cause: str
    where: str
    operations: int = 0
    hit: bool = False
    difference: str | Callable[[], str] = ""

    def described(self) -> str:
        """The event in one line, and the difference in a second."""
        place = f" at {self.where}" if self.where else ""
        size = f" of {self.operations} operations" if self.operations else ""
        found = " (compiled before)" if self.hit and self.kind == EXECUTION else ""
        text = f"{self.kind}{size}: {self.cause}{place}{found}"
        why = self.difference if isinstance(self.difference, str) else self.difference()
        return f"{text}\n    differs: {why}" if why else text


class ForbiddenError(RuntimeError):
    """Something happened that a block around it forbids."""


class _Watching(threading.local):
    """What this thread watches and forbids."""

    def __init__(self) -> None:
        self.accounts: list[Explanation] = []
        self.forbidden: dict[str, int] = {}


_watching: Final = _Watching()
_guard: Final = threading.Lock()
_count = 0  # blocks of all threads; where it is 0 no thread needs to look at its own


class Explanation:
    """Every execution and compile of a block, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    @property
    def executions(self) -> list[Event]:
        """The executions alone."""
        return [each for each in self.events if each.kind == EXECUTION]

    @property
    def compiles(self) -> list[Event]:
        """The compiles alone."""
        return [each for each in self.events if each.kind == COMPILE]

    def __str__(self) -> str:
        if not self.events:
            return "nothing was executed or compiled"
        numbered = enumerate(self.events, 1)
        return "\n".join(f"{number}. {event.described()}" for number, event in numbered)


def watched() -> bool:
    """Whether any thread watches or forbids; cheap enough for every execution."""
    return _count > 0


def note(event: Event) -> None:
    """Say what is about to happen; raise if it is forbidden."""
    if not _count:
        return
    if _watching.forbidden.get(event.kind):
        raise ForbiddenError(
            f"forbid_{event.kind}: expected no {event.kind} inside the block, got "
            f"{event.described()}; move what needs the value out of the block"
        )
    for account in _watching.accounts:
        account.events.append(event)


@contextmanager
def _block() -> Iterator[None]:
    global _count
    with _guard:
        _count += 1
    try:
        yield
    finally:
        with _guard:
            _count -= 1


@contextmanager
def explain() -> Iterator[Explanation]:
    """Every execution and compile of the block: cause, line, what was known, what differed."""
    account = Explanation()
    with _block():
        _watching.accounts.append(account)
        try:
            yield account
        finally:
            _watching.accounts.remove(account)


@contextmanager
def _forbid(kind: str) -> Iterator[None]:
    with _block():
        _watching.forbidden[kind] = _watching.forbidden.get(kind, 0) + 1
        try:
            yield
        finally:
            _watching.forbidden[kind] -= 1


def forbid_execution() -> AbstractContextManager[None]:
    """Raise where a value is needed inside the block."""
    return _forbid(EXECUTION)


def forbid_compile() -> AbstractContextManager[None]:
    """Raise where something new would be compiled inside the block."""
    return _forbid(COMPILE)


def fallback_ops() -> list[str]:
    """The operators that ran by reference rules since the counters were reset, by full name."""
    return [name for name in counter_names() if "::" in name]
