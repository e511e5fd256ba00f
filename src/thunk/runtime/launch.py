"""Enters: an executable and its inputs. Leaves: `Launch`, a run that may not be over yet.

Invariant: the outputs are known at once and filled when `wait` returns; a failure belongs to the
launch that failed, and a launch that reads what a failed one should have written fails too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from thunk.runtime.storage import Bytes


class DependentFailure(RuntimeError):
    """A run was dropped because a run whose results it reads had failed; the cause says why."""


class Launch(Protocol):
    """One run of an executable."""

    @property
    def outputs(self) -> Sequence[Bytes]:
        """One buffer an output; their contents count once `wait` has returned."""
        ...

    @property
    def error(self) -> BaseException | None:
        """Why the run failed; None as long as it has not."""
        ...

    @property
    def started(self) -> bool:
        """Whether `start` has handed the run over, even if an interrupt cut that call short."""
        ...

    def start(self) -> None:
        """Hand the run over; inputs may be overwritten from now on."""
        ...

    def done(self) -> bool:
        """Whether it is over; never blocks."""
        ...

    def wait(self) -> None:
        """Return when it is over; raise if it failed."""
        ...


class Immediate:
    """A launch that runs on the calling thread as soon as it is started."""

    __slots__ = ("_compute", "error", "outputs", "started")

    def __init__(self, compute: Callable[[], list[Bytes]]) -> None:
        self._compute = compute
        self.outputs: list[Bytes] = []
        self.error: BaseException | None = None
        self.started = False

    def start(self) -> None:
        """Run; a failure waits for `wait`, an interrupt does not."""
        self.started = True
        try:
            self.outputs = self._compute()
        except Exception as error:
            self.error = error

    def done(self) -> bool:
        """Whether it was started."""
        return self.started

    def wait(self) -> None:
        """Raise what the run raised."""
        if self.error is not None:
            raise self.error
