"""Enters: an executable and its inputs. Leaves: `Launch`, a run that may not be over yet.

Invariant: the outputs are known at once and filled when `wait` returns; a failure belongs to the
launch that failed, and a launch that reads what a failed one should have written fails too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from thunk.runtime.storage import Bytes


class DependentFailure(RuntimeError):
    """A run was dropped because a run whose results it reads had failed; the cause says why."""


class Left:
    """What a failed run made of an input's memory that an output was to take over."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


KEPT, FILLED, DAMAGED = map(Left, ("kept", "filled", "damaged"))


class Launch(Protocol):
    """One run of an executable."""

    @property
    def outputs(self) -> list[Bytes]:
        """One buffer an output, from the start on; contents count once `wait` has returned."""
        ...

    @property
    def error(self) -> BaseException | None:
        """Why the run failed, noting the line that recorded it; None as long as it has not."""
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

    def left(self) -> Mapping[int, Left]:
        """Of a failed run, what became of each input whose memory an output took over."""
        ...

    def restore(self, outputs: Sequence[int]) -> None:
        """These outputs of a failed run have contents after all; later runs may read them."""
        ...


Failures = deque[BaseException]  # that nobody was told of yet, the oldest first
FAILURES_KEPT = 16


class Immediate:
    """A launch that runs on the calling thread as soon as it is started."""

    __slots__ = ("_compute", "_failures", "error", "outputs", "started")

    def __init__(self, compute: Callable[[], list[Bytes]], failures: Failures) -> None:
        self._compute = compute
        self._failures = failures
        self.outputs: list[Bytes] = []
        self.error: BaseException | None = None
        self.started = False

    def start(self) -> None:
        """Run; a failure waits for `wait`, an interrupt does not."""
        if self.started:
            raise RuntimeError("start: expected a launch that was not started, got one that was")
        self.outputs = self._compute_or_fail()
        self.started = True

    def _compute_or_fail(self) -> list[Bytes]:
        try:
            return self._compute()
        except Exception as error:
            self.error = error
            self._failures.append(error)
            return []

    def done(self) -> bool:
        """Whether it was started."""
        return self.started

    def wait(self) -> None:
        """Raise what the run raised."""
        if not self.started:
            raise RuntimeError("wait: expected a launch that was started, got one that was not")
        if self.error is not None:
            if self.error in self._failures:
                self._failures.remove(self.error)
            raise self.error

    def left(self) -> Mapping[int, Left]:
        """Nothing is written over."""
        return {}

    def restore(self, outputs: Sequence[int]) -> None:
        """Nobody is kept from reading them."""
