"""Enters: a call of oneDNN. Leaves: the context with which compiled code runs it.

Invariant: each context has memory objects of its own. In a forked child its primitive is made anew
for one thread, in the very layouts that were chosen before, when it is first run there.
"""

from __future__ import annotations

import ctypes
import traceback
from functools import cache
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

import numpy

from thunk.backends.cpu.calls.call import (
    SCRATCHPAD,
    BoundCall,
    Operand,
    Words,
    aligned_bytes,
)
from thunk.backends.cpu.onednn import api
from thunk.backends.cpu.onednn.handles import Handle, stream
from thunk.backends.cpu.onednn.runner import EACH, HEAD, runner


class Call(Protocol):
    """What is needed of a call."""

    operands: tuple[Operand, ...]
    primitive: Handle
    threads: int

    def argument(self, operand: Operand) -> int: ...
    def memory(self, operand: Operand) -> Handle: ...
    def serial(self) -> Any: ...
    @property
    def scratchpad(self) -> int: ...


class BoundPrimitive(BoundCall):
    """A primitive with memory objects of its own."""

    def __init__(self, call: Call) -> None:
        words: Words = (ctypes.c_int64 * (HEAD + EACH * len(call.operands)))()
        self.own_scratchpad: numpy.ndarray | None = None
        self._fill(words, call, len(call.operands))
        super().__init__(runner(), words, call.threads)

    def _fill(self, words: Words, call: Call, given: int) -> None:
        """Write everything but the first word; `given` operands have an address in each run."""
        self.memories = [call.memory(operand) for operand in call.operands]
        self.arguments = (api.ExecutionArgument * len(self.memories))(
            *[
                api.ExecutionArgument(call.argument(operand), memory.pointer)
                for operand, memory in zip(call.operands, self.memories)
            ]
        )
        self.call = call
        arguments = (len(self.memories), ctypes.addressof(self.arguments))
        words[1:HEAD] = [call.primitive.pointer, stream(), *arguments, given, call.threads]
        for position, memory in enumerate(self.memories[:given]):
            words[HEAD + EACH * position] = memory.pointer
            words[HEAD + EACH * position + 1] = 0

    def become_serial(self) -> None:
        """In a forked child: make the primitive anew for one thread before the next run."""
        _sleeping[self.context] = self
        self.words[0] = _waker()[0]

    def wake(self) -> None:
        """Take one thread from now on."""
        serial = self.call.serial()
        wanted = serial.scratchpad
        given = len([each for each in serial.operands if each.name != SCRATCHPAD])
        enough = bool(wanted) and wanted <= self.call.scratchpad
        self._fill(self.words, serial, given + enough)
        if wanted and not enough:
            self.own_scratchpad = aligned_bytes(wanted)
            api.call("memory_set_data_handle", self.memories[-1], self.own_scratchpad.ctypes.data)
        self.words[0] = 0


_sleeping: Final[WeakValueDictionary[int, BoundPrimitive]] = WeakValueDictionary()
_Waker = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
FAILED: Final = 5


def _wake(context: int) -> int:
    """What the first word of a context calls that has not run since the fork."""
    try:
        _sleeping[context].wake()
    except Exception:
        traceback.print_exc()  # compiled code is the caller: it understands a status only
        return FAILED
    return 0


@cache
def _waker() -> tuple[int, Any]:
    """The address of `_wake` for compiled code, and what keeps it callable."""
    function = _Waker(_wake)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address, function
