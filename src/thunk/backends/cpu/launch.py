"""Enters: a program, a filled record, buffers. Leaves: `Launch`, one run and what became of it.

Invariant: the record goes back to its program once, when the run's end was seen; then the launch
holds its outputs and its failure, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thunk.backends.cpu.flight import flight
from thunk.backends.cpu.record import Record
from thunk.runtime.launch import DAMAGED, FILLED, KEPT, Left
from thunk.runtime.storage import Bytes

if TYPE_CHECKING:
    from thunk.backends.cpu.program import Program

_HERE = -1  # the ticket of a run that was never queued


class Launch:
    """One run of a program."""

    __slots__ = ("error", "outputs", "program", "record", "stopped", "told")

    def __init__(self, program: Program, record: Record, outputs: list[Bytes]) -> None:
        self.program = program
        self.record: Record | None = record
        self.outputs = outputs
        self.error: BaseException | None = None
        self.told = False  # whether somebody was told of the error
        self.stopped = -1  # the step that failed, if one did

    @property
    def nbytes(self) -> int:
        """How much memory its results hold."""
        return self.program.result_bytes

    @property
    def inputs(self) -> list[Bytes]:
        """What it reads, until its end was seen."""
        arrays = [] if self.record is None else self.record.arrays
        return arrays[: len(arrays) - len(self.outputs)]

    @property
    def settled(self) -> bool:
        """Whether its end was seen."""
        return self.record is None

    @property
    def ticket(self) -> int:
        """Its place in the queue, 0 outside of it."""
        record = self.record
        return 0 if record is None else record.ticket

    @property
    def started(self) -> bool:
        """Whether it was handed over."""
        record = self.record
        return record is None or record.ticket != 0

    def start(self) -> None:
        """Queue it, or run it where there is no native thread."""
        if self.started:
            raise RuntimeError("start: expected a launch that was not started, got one that was")
        flight().start(self)

    def done(self) -> bool:
        """Whether it is over; never blocks."""
        if self.record is not None:
            flight().look()
        return self.record is None

    def wait(self) -> None:
        """Return when it is over; raise if it failed."""
        if self.record is not None:
            if not self.started:
                raise RuntimeError("wait: expected a launch that was started, got one that was not")
            flight().settle(self)
        if self.error is not None:
            self.told = True
            raise self.error

    def walk(self) -> None:
        """Run on this thread."""
        assert self.record is not None
        self.record.set_ticket(_HERE)
        self.program.walk(self.record)

    def finish(self) -> None:
        """Read what the run left behind and give its memory back."""
        record = self.record
        assert record is not None
        if record.status:
            self.stopped = record.step
            self.error = self.program.failure(record)
        self._release(record)

    def fail(self, error: BaseException) -> None:
        """It will not run."""
        record = self.record
        assert record is not None
        self.error = error
        self._release(record)

    def left(self) -> dict[int, Left]:
        """Of a failed run, what became of each input whose memory an output took over."""
        return {
            source: KEPT if self.stopped < first else FILLED if self.stopped > last else DAMAGED
            for source, (first, last) in self.program.takeovers().items()
        }

    def restore(self, outputs: Sequence[int]) -> None:
        """These outputs have contents after all."""
        flight().restore([self.outputs[position] for position in outputs])

    def _release(self, record: Record) -> None:
        self.record = None
        record.clear()
        self.program.records.append(record)
