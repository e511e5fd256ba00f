"""Enters: the form of a program's runs. Leaves: `Record`, the memory that one run needs to itself.

Invariant: a record belongs to one run from `fill` until the run is over; its addresses never move.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy

from thunk.backends.cpu.pointers import gather
from thunk.backends.cpu.worker_code import (
    BASES,
    COUNT,
    JOB_WORDS,
    STEPS,
    THREADS,
    TICKET,
    TIMES,
    WALK,
)
from thunk.compiler.memory import ARENA, FIRST_INPUT, NUMBERS, STATUS
from thunk.runtime.backend import Number
from thunk.runtime.storage import Bytes, allocate

_WORD = 8
_STATUS, _STEP = JOB_WORDS, JOB_WORDS + 1
_NUMBERS = JOB_WORDS + 2


class Record:
    """One run's job, status, numbers and bases, in one block."""

    __slots__ = (
        "__weakref__", "_first_base", "_words", "address", "arena", "arrays", "bases_address",
        "block", "error", "numbers",
    )  # fmt: skip

    def __init__(
        self, walk: int, steps: int, count: int, threads: int, numbers: int, bases: int
    ) -> None:
        self.block = allocate(_WORD * (_NUMBERS + max(numbers, 1) + bases)).view(numpy.int64)
        self.block[:] = 0
        self._words = self.block.data
        self.address = int(self.block.ctypes.data)
        first_base = _NUMBERS + max(numbers, 1)
        self.numbers = self.block[_NUMBERS:first_base]
        self.bases_address = self.address + _WORD * first_base
        self._first_base = self.bases_address + _WORD * FIRST_INPUT
        self.block[WALK], self.block[STEPS], self.block[COUNT] = walk, steps, count
        self.block[BASES], self.block[THREADS] = self.bases_address, threads
        self.block[first_base + NUMBERS] = self.address + _WORD * _NUMBERS
        self.block[first_base + STATUS] = self.address + _WORD * _STATUS
        self.arena: Bytes | None = None
        self.arrays: list[Bytes] = []
        self.error: BaseException | None = None

    def fill(
        self, inputs: Sequence[Bytes], outputs: Sequence[Bytes], numbers: Sequence[Number],
        form: struct.Struct,
    ) -> None:  # fmt: skip
        """Take a run's buffers, which stay alive until `clear`, and numbers."""
        self.arrays = arrays = [*inputs, *outputs]
        gather(arrays, self._first_base)
        try:
            form.pack_into(self._words, _WORD * _NUMBERS, *numbers)
        except struct.error:
            form.pack_into(self._words, _WORD * _NUMBERS, *_spelled(numbers, form))

    def use_arena(self, arena: Bytes) -> None:
        """Compute in this memory."""
        if arena is not self.arena:
            self.arena = arena
            first_base = (self.bases_address - self.address) // _WORD
            self.block[first_base + ARENA] = arena.ctypes.data

    def clear(self) -> None:
        """Let go of the run's buffers."""
        self._words[_STATUS] = self._words[TICKET] = self._words[TIMES] = 0
        self.arrays = []
        self.error = None

    def base(self, number: int) -> Bytes:
        """The memory that base `number` is the address of."""
        if number >= FIRST_INPUT:
            return self.arrays[number - FIRST_INPUT]
        if number == NUMBERS:
            return self.numbers
        if number == STATUS:
            return self.block[_STATUS : _STATUS + 1]
        assert self.arena is not None
        return self.arena

    @property
    def ticket(self) -> int:
        """The place in the queue, 0 before it has one."""
        return self._words[TICKET]

    @property
    def status(self) -> int:
        """What the run left behind; 0 if nothing went wrong."""
        return self._words[_STATUS]

    @property
    def step(self) -> int:
        """The step that ran last."""
        return self._words[_STEP]

    def set_status(self, status: int) -> None:
        """Write the status, as a step would."""
        self._words[_STATUS] = status

    def set_ticket(self, ticket: int) -> None:
        """Write the ticket, as the queue would."""
        self._words[TICKET] = ticket

    def walk_arguments(self) -> list[int]:
        """What a job's function is called with."""
        return self._words[STEPS:TICKET].tolist()

    def measure(self, times: int) -> None:
        """Write clock readings to this address."""
        self._words[TIMES] = times


def number_form(kinds: Sequence[type]) -> struct.Struct:
    """How numbers of these types lie one after another."""
    return struct.Struct("=" + "".join("d" if kind is float else "q" for kind in kinds))


def _spelled(numbers: Sequence[Any], form: struct.Struct) -> list[Any]:
    """Integers outside int64 keep their lowest 64 bits."""
    kinds = form.format[1:]
    if len(kinds) != len(numbers):
        raise ValueError(f"run: expected {len(kinds)} numbers, got {len(numbers)}")
    return [number if kind == "d" else _wrapped(number) for kind, number in zip(kinds, numbers)]


def _wrapped(number: Any) -> int:
    """An integer's lowest 64 bits, as int64 holds them."""
    value = int(number) & ((1 << 64) - 1)
    return value - (1 << 64) if value >> 63 else value
