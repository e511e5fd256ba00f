"""Enters: a built call. Leaves: contexts with which compiled code can run it.

A bound call is a C function `int function(void **pointers, void *context)` and its context. The
pointers are those of the operands, in order: what is read, what is written, the scratchpad. Zero
means success.
Invariant: a bound call belongs to one thread at a time and keeps alive what its context points to.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy

from thunk.backends.cpu.calls.layout import Layout, plain
from thunk.backends.cpu.calls.pool import watch_fork
from thunk.types.dtype import uint8

Access = Literal["read", "write", "update"]
Words = ctypes.Array[ctypes.c_int64]
Function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

SCRATCHPAD = "scratchpad"
MEMORY_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Operand:
    """One tensor of a call, in the layout that the call reads or writes."""

    name: str
    layout: Layout
    access: Access


class BoundCall:
    """A C function and the context that makes it this call. `words` is the context's memory."""

    def __init__(self, function: int, words: Words, threads: int) -> None:
        self.function = function
        self.words = words
        self.context = ctypes.addressof(words)
        if threads > 1:
            watch_fork(self)

    def become_serial(self) -> None:
        """In a forked child: make the next run take one thread."""
        raise NotImplementedError

    def run(self, pointers: int) -> None:
        """Run with the operands' addresses at the address `pointers`."""
        status = Function(self.function)(pointers, self.context)
        if status:
            raise RuntimeError(f"library call: expected success, got status {status}")


class Spec(Protocol):
    """What every description of a call can say."""

    @property
    def flops(self) -> int: ...


class LibraryCall(ABC):
    """A call that was built: layouts are chosen, code exists, only memory is missing."""

    spec: Spec
    operands: tuple[Operand, ...]
    implementation: str
    threads: int

    @abstractmethod
    def bind(self) -> BoundCall:
        """The call as a C function with a context of its own."""

    @property
    def flops(self) -> int:
        return self.spec.flops

    @property
    def nbytes(self) -> int:
        """Bytes that are read and written at least."""
        return sum(
            operand.layout.nbytes * (2 if operand.access == "update" else 1)
            for operand in self.operands
            if operand.name != SCRATCHPAD
        )

    @property
    def scratchpad(self) -> int:
        """Bytes of scratch memory; if there are any, the scratchpad is the last operand."""
        last = self.operands[-1]
        return last.layout.nbytes if last.name == SCRATCHPAD else 0

    def layout(self, name: str) -> Layout:
        """The layout of the operand `name`."""
        for operand in self.operands:
            if operand.name == name:
                return operand.layout
        raise KeyError(f"{self}: expected an operand, got {name!r}")

    def __str__(self) -> str:
        return f"{self.spec} by {self.implementation} on {self.threads} threads"

    def run(self, arrays: Mapping[str, Any]) -> None:
        """Run on NumPy arrays whose first elements are the operands' first elements."""
        scratch = aligned_bytes(self.scratchpad)
        pointers = (ctypes.c_void_p * len(self.operands))()
        for position, operand in enumerate(self.operands):
            array = scratch if operand.name == SCRATCHPAD else arrays[operand.name]
            pointers[position] = array.ctypes.data
        self.bind().run(ctypes.addressof(pointers))


def aligned_bytes(nbytes: int) -> numpy.ndarray:
    """Uninitialised memory that a library call may have as an operand."""
    block = numpy.empty(nbytes + MEMORY_ALIGNMENT, numpy.uint8)
    skip = -block.ctypes.data % MEMORY_ALIGNMENT
    return block[skip : skip + nbytes]


def in_order(operands: list[Operand], scratchpad: int) -> tuple[Operand, ...]:
    """Operands in the order of a call's pointers."""
    scratch = Operand(SCRATCHPAD, plain((scratchpad,), uint8), "write")
    return (
        *[operand for operand in operands if operand.access == "read"],
        *[operand for operand in operands if operand.access != "read"],
        *([scratch] if scratchpad else []),
    )
