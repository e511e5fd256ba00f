"""Enters: a schedule. Leaves: `Program`: kernels, step table and memory plan, ready to run.

Invariant: the table names memory by base and offset, so one program serves any buffers; a run fills
the bases, and one native call does the rest.
"""

from __future__ import annotations

import ctypes
import hashlib
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy

from thunk.backends.cpu.blocks import blocks
from thunk.backends.cpu.callback import BackCall, StepFailed
from thunk.backends.cpu.flight import flight
from thunk.backends.cpu.launch import Launch
from thunk.backends.cpu.llvm.emitter import emit_kernel
from thunk.backends.cpu.llvm.jit import loader
from thunk.backends.cpu.llvm.kernel import Signature, canonical, signature_of
from thunk.backends.cpu.machine import description, lanes
from thunk.backends.cpu.record import Record, number_form
from thunk.backends.cpu.runner import (
    CALLBACK,
    KERNEL,
    LIBRARY,
    PARALLEL,
    STEP_WORDS,
    runner,
    threads,
)
from thunk.backends.cpu.status import CALL_BACK_RAISED, LIBRARY_FAILED
from thunk.base.errors import recorded_at
from thunk.compiler.access import Access, Buffer
from thunk.compiler.loops import Loops, Planner
from thunk.compiler.lowering import CallBack, LibraryCall
from thunk.compiler.memory import FIRST_INPUT, MemoryPlan, plan_memory
from thunk.compiler.nest import Nest
from thunk.compiler.reuse import drop_copies_onto_themselves, find_aliases
from thunk.compiler.schedule import Schedule, spell_schedule, writes_of
from thunk.lazy.metrics import count
from thunk.runtime.backend import Donated, Number
from thunk.runtime.storage import Bytes

Ticks = numpy.ndarray[Any, numpy.dtype[numpy.int64]]
GRAIN = 16384  # points of one cheap operation below which a fork costs more than it saves
BRIEF = 1 << 22  # operations that take less time than waking a thread that sleeps


@dataclass(frozen=True, slots=True)
class StepTime:
    """How long one step took, and about how much it moved and computed."""

    name: str
    lines: list[str]
    seconds: float
    nbytes: int
    flops: int


class Program:
    """A compiled graph."""

    def __init__(
        self, schedule: Schedule, scalars: Sequence[type], donated: Donated = frozenset()
    ) -> None:
        self.schedule = schedule
        self.scalars = tuple(scalars)
        self.loops: dict[int, Loops] = {}
        stored = [set(each) for each in schedule.stored]
        for number, step in enumerate(schedule.steps):
            if isinstance(step, Nest):
                planner = Planner(step, stored[number], lanes())
                self.loops[number] = planner.plan()
                stored[number] = planner.stored
        self.stored = stored
        aliases = find_aliases(schedule, self.loops, donated)
        for each in self.loops.values():
            drop_copies_onto_themselves(each, aliases)
        self.plan: MemoryPlan = plan_memory(schedule, stored, aliases)
        self.kernels: dict[int, str] = {}
        self.work = 0  # operations of a run, about
        self._keep: list[Any] = []
        count = len(schedule.steps)
        self.table = numpy.zeros((max(count, 1), STEP_WORDS), numpy.int64)
        self.backs: dict[int, BackCall] = {}
        for number, step in enumerate(schedule.steps):
            if isinstance(step, Nest):
                self._kernel(number)
            elif isinstance(step, LibraryCall):
                self._library(number, step)
            else:
                self._back(number, step)
        self._prepare()

    def _kernel(self, number: int) -> None:
        loops, width = self.loops[number], lanes()
        text = canonical(loops, width)
        digest = hashlib.sha256(f"{description()}\n{text}".encode()).hexdigest()
        name = self.kernels[number] = f"kernel_{digest[:32]}"
        address = loader().address(name, text, lambda: emit_kernel(loops, width, name))
        signature = signature_of(loops, width)
        self.work += signature.work
        operands = self._operands(signature)
        kind = PARALLEL if signature.work > GRAIN and signature.units > 1 else KERNEL
        self.table[number, :4] = (kind, address, operands.ctypes.data, signature.units)

    def _operands(self, signature: Signature) -> numpy.ndarray:
        words: list[int] = []
        for access in signature.pointers:
            words += self._place(access)
        words += signature.numbers
        if signature.length >= 0:
            words.append(signature.length)
        return self._kept(numpy.array(words or [0], numpy.int64))

    def _place(self, access: Access) -> tuple[int, int]:
        base, offset = self.plan.places[access.buffer]
        return base, offset + access.offset * access.element.itemsize

    def _kept(self, array: numpy.ndarray) -> numpy.ndarray:
        self._keep.append(array)
        return array

    def _library(self, number: int, step: LibraryCall) -> None:
        self.work += step.flops
        words: list[int] = []
        for access in (*step.operands, *step.results):
            words += self._place(access)
        if step.space is not None:
            words += self.plan.places[step.space]
        operands = self._kept(numpy.array(words or [0], numpy.int64))
        pointers = self._kept(numpy.zeros(max(len(words) // 2, 1), numpy.int64))
        self.table[number] = (
            LIBRARY, step.function, operands.ctypes.data, len(words) // 2, step.context,
            pointers.ctypes.data,
        )  # fmt: skip

    def _back(self, number: int, step: CallBack) -> None:
        self.backs[number] = BackCall(step, {each: self.plan.places[each]
                                             for each in {*step.reads, *step.writes}})  # fmt: skip
        self.table[number, 0] = CALLBACK

    def _prepare(self) -> None:
        """What every run shares, and what it needs to know of them."""
        self._entry = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(self._call_back)
        for number in self.backs:
            self.table[number, 1] = ctypes.cast(self._entry, ctypes.c_void_p).value or 0
        self._count = len(self.schedule.steps)
        self._runner = runner()
        self._walk_address = ctypes.cast(self._runner, ctypes.c_void_p).value or 0
        sizes = [each.nbytes for each in self.schedule.outputs]
        self._outputs = list(zip(self.plan.sources, sizes, strict=True))
        self.result_bytes = sum(size for source, size in self._outputs if source < 0)
        kinds = set(self.table[: self._count, 0].tolist())
        self._may_fork = not kinds.isdisjoint((PARALLEL, LIBRARY))
        self._form = number_form(self.scalars)
        self.records: list[Record] = []  # of runs that are over
        self._by_bases: weakref.WeakValueDictionary[int, Record] = weakref.WeakValueDictionary()

    @property
    def forks(self) -> bool:
        """Whether a run uses more threads than the one that runs it."""
        return self._may_fork and threads().count > 1

    @property
    def brief(self) -> bool:
        """Whether a run is over before a thread that slept meanwhile would be awake."""
        return self.work < BRIEF and not self.backs

    def _new_record(self) -> Record:
        """Memory for one more run at a time."""
        record = Record(
            self._walk_address, int(self.table.ctypes.data), self._count, threads().address,
            len(self.scalars), FIRST_INPUT + len(self.schedule.inputs) + len(self._outputs),
        )  # fmt: skip
        if self.backs:
            self._by_bases[record.bases_address] = record
        return record

    def _call_back(self, number: int, bases: int) -> None:
        record = self._by_bases[bases]
        flight().enter()
        try:
            count(self.backs[number].node.op.full_name)
            self.backs[number].run(record, self.scalars)
        except BaseException as error:
            record.error = error
            record.set_status(CALL_BACK_RAISED)
        finally:
            flight().leave()

    def prepare(self, inputs: Sequence[Bytes], numbers: Sequence[Number]) -> Launch:
        """A launch that is ready to start."""
        inputs = [*inputs, *self.schedule.constants]
        outputs = [
            inputs[source] if source >= 0 else blocks.take(size) for source, size in self._outputs
        ]
        record = self.records.pop() if self.records else self._new_record()
        record.fill(inputs, outputs, numbers, self._form)
        record.use_arena(flight().arena(self.plan.arena))
        return Launch(self, record, outputs)

    def launch(self, inputs: Sequence[Bytes], numbers: Sequence[Number]) -> Launch:
        """A launch that was started."""
        launch = self.prepare(inputs, numbers)
        launch.start()
        return launch

    def run(self, inputs: Sequence[Bytes], numbers: Sequence[Number]) -> list[Bytes]:
        """Launch and wait."""
        launch = self.prepare(inputs, numbers)
        flight().run(launch)
        launch.wait()
        return launch.outputs

    def profile(self, inputs: Sequence[Bytes], numbers: Sequence[Number]) -> list[StepTime]:
        """Run once and measure every step."""
        launch = self.prepare(inputs, numbers)
        ticks = self.watch(launch)
        started = perf_counter()
        launch.start()
        launch.wait()
        seconds = perf_counter() - started
        return self.times(ticks, seconds / max(int(ticks[-1] - ticks[0]), 1))

    def watch(self, launch: Launch) -> Ticks:
        """Where a launch that was not started will leave the clock of each step's beginning."""
        record = launch.record
        if record is None:
            raise RuntimeError("watch: expected a launch to be started yet, got one that is over")
        ticks = numpy.zeros(self._count + 1, numpy.int64)
        record.measure(ticks.ctypes.data)
        return ticks

    def times(self, ticks: Ticks, seconds: float) -> list[StepTime]:
        """What the clock showed, as steps; a tick lasts so many seconds."""
        spans = numpy.diff(ticks)
        return [self._measured(number, float(spans[number]) * seconds)
                for number in range(self._count)]  # fmt: skip

    def _measured(self, number: int, seconds: float) -> StepTime:
        step = self.schedule.steps[number]
        if isinstance(step, Nest):
            signature = signature_of(self.loops[number], lanes())
            touched = {each.buffer for each in signature.pointers}
            name, lines, flops = ", ".join(step.names), step.lines, signature.work
        else:
            touched = {*step.reads, *step.writes}
            where = step.where if isinstance(step, LibraryCall) else step.node.where
            name, lines = step.name, [where]
            flops = step.flops if isinstance(step, LibraryCall) else 0
        return StepTime(name, lines, seconds, sum(each.nbytes for each in touched), flops)

    def walk(self, record: Record) -> None:
        """Run on this thread."""
        self._runner(*record.walk_arguments())

    def takeovers(self) -> dict[int, tuple[int, int]]:
        """Inputs whose memory an output takes over, with the first and last step that write it."""
        found: dict[int, tuple[int, int]] = {}
        sources = {FIRST_INPUT + source: source for source, _ in self._outputs if source >= 0}
        for number, step in enumerate(self.schedule.steps):
            for buffer in writes_of(step):
                base, _ = self.plan.places.get(buffer, (-1, 0))
                source = sources.get(base)
                if source is not None:
                    found[source] = (found.get(source, (number, number))[0], number)
        return found

    def failure(self, record: Record) -> BaseException:
        """What a status other than 0 stands for; it knows the user's line that recorded it."""
        status, step = record.status, self.schedule.steps[record.step]
        if isinstance(step, Nest):
            lines = step.lines
        else:
            lines = [step.where if isinstance(step, LibraryCall) else step.node.where]
        error = record.error
        if error is None and 0 < status <= len(self.schedule.failures):
            found = self.schedule.failures[status - 1]
            lines = [each for each in lines if each in found.lines] or found.lines
            error = found.kind(found.message)
        elif error is None and isinstance(step, LibraryCall) and step.failure is not None:
            error = step.failure(status & ~LIBRARY_FAILED)
        elif error is None:
            code = status & 0xFFFF
            error = StepFailed(f"expected a library call to succeed, got status {code}")
        recorded_at(error, ", ".join(dict.fromkeys(lines)))
        return error

    def text(self) -> str:
        """Schedule, memory plan and native code."""
        parts = [spell_schedule(self.schedule), self.plan.text()]
        for number, name in self.kernels.items():
            parts.append(f"; step {number}\n" + emit_kernel(self.loops[number], lanes(), name))
        return "\n".join(parts)


__all__ = ["Buffer", "Program"]
