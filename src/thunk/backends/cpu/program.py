"""Enters: a schedule. Leaves: `Program`: kernels, step table and memory plan, ready to run.

Invariant: the table names memory by base and offset, so one program serves any buffers; a run fills
the bases, and one native call does the rest.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy

from thunk.backends.cpu.blocks import blocks
from thunk.backends.cpu.callback import BackCall, StepFailed
from thunk.backends.cpu.llvm.emitter import emit_kernel
from thunk.backends.cpu.llvm.jit import loader
from thunk.backends.cpu.llvm.kernel import Signature, canonical, signature_of
from thunk.backends.cpu.machine import description, lanes
from thunk.backends.cpu.pointers import gather
from thunk.backends.cpu.runner import (
    CALLBACK,
    KERNEL,
    LIBRARY,
    PARALLEL,
    STEP_WORDS,
    runner,
    threads,
)
from thunk.backends.cpu.status import CALL_BACK_RAISED
from thunk.compiler.access import Access, Buffer
from thunk.compiler.loops import Loops, Planner
from thunk.compiler.lowering import CallBack, LibraryCall
from thunk.compiler.memory import FIRST_INPUT, MemoryPlan, plan_memory
from thunk.compiler.nest import Nest
from thunk.compiler.reuse import drop_copies_onto_themselves, find_aliases
from thunk.compiler.schedule import Schedule, spell_schedule
from thunk.runtime.backend import Number
from thunk.runtime.storage import Bytes, allocate

GRAIN = 16384  # points of one cheap operation below which a fork costs more than it saves


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
        self, schedule: Schedule, scalars: Sequence[type], donated: frozenset[int] = frozenset()
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
        """What every run shares: bases, numbers, status, arena."""
        outputs = len(self.schedule.outputs)
        self.bases = numpy.zeros(FIRST_INPUT + len(self.schedule.inputs) + outputs, numpy.int64)
        self.numbers = numpy.zeros(max(len(self.scalars), 1), numpy.int64)
        self.reals = self.numbers.view(numpy.float64)
        self.status = numpy.zeros(1, numpy.int64)
        self.arena = allocate(self.plan.arena)
        self.bases[:3] = (
            self.arena.ctypes.data, self.numbers.ctypes.data, self.status.ctypes.data
        )
        self._arrays: list[Bytes] = [self.arena, self.numbers, self.status]
        self._error: list[BaseException] = []
        self._entry = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self._call_back)
        for number in self.backs:
            self.table[number, 1] = ctypes.cast(self._entry, ctypes.c_void_p).value or 0
        self._count = len(self.schedule.steps)
        self._first_base = int(self.bases.ctypes.data) + 8 * FIRST_INPUT
        self._walk_arguments = (self.table.ctypes.data, self._count, self.bases.ctypes.data)
        self._ticks: int | None = None
        self._runner = runner()
        self._sizes = [each.nbytes for each in self.schedule.outputs]

    def _call_back(self, number: int) -> None:
        try:
            self.backs[number].run(self._arrays, self.numbers, self.scalars)
        except BaseException as error:
            self._error.append(error)
            self.status[0] = CALL_BACK_RAISED

    def run(self, inputs: Sequence[Bytes], numbers: Sequence[Number]) -> list[Bytes]:
        """Fill the bases and walk the table."""
        outputs = [
            blocks.take(size) if source < 0 else inputs[source]
            for size, source in zip(self._sizes, self.plan.sources, strict=True)
        ]
        arrays = [*self._arrays[:3], *inputs, *outputs]
        self._arrays = arrays
        gather(arrays[FIRST_INPUT:], self._first_base)
        for position, (kind, number) in enumerate(zip(self.scalars, numbers, strict=True)):
            if kind is float:
                self.reals[position] = number
            else:
                self.numbers[position] = _wrapped(number)
        self.status[0] = 0
        self._walk(self._ticks)
        del self._arrays[3:]
        if self.status[0]:
            self._fail()
        return outputs

    def profile(self, inputs: Sequence[Bytes], numbers: Sequence[Number]) -> list[StepTime]:
        """Run once and measure every step."""
        ticks = numpy.zeros(self._count + 1, numpy.int64)
        self._ticks = ticks.ctypes.data
        started = perf_counter()
        self.run(inputs, numbers)
        seconds = perf_counter() - started
        self._ticks = None
        spans = numpy.diff(ticks)
        scale = seconds / max(int(spans.sum()), 1)
        return [self._measured(number, float(spans[number]) * scale)
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

    def _walk(self, times: Any) -> None:
        self._runner(*self._walk_arguments, threads().address, times)

    def _fail(self) -> None:
        if self._error:
            raise self._error.pop()
        status = int(self.status[0])
        if 0 < status <= len(self.schedule.failures):
            kind, message = self.schedule.failures[status - 1]
            raise kind(message)
        raise StepFailed(f"expected a library call to succeed, got status {status & 0xFFFF}")

    def text(self) -> str:
        """Schedule, memory plan and native code."""
        parts = [spell_schedule(self.schedule), self.plan.text()]
        for number, name in self.kernels.items():
            parts.append(f"; step {number}\n" + emit_kernel(self.loops[number], lanes(), name))
        return "\n".join(parts)


def _wrapped(number: Any) -> int:
    """An integer's lowest 64 bits, as int64 holds them."""
    value = int(number) & ((1 << 64) - 1)
    return value - (1 << 64) if value >> 63 else value


__all__ = ["Buffer", "Program"]
