"""Enters: bound calls and which of the operands each of them takes. Leaves: one bound call.

Invariant: the steps run in order on the calling thread; each may take the pool for itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from thunk.backends.cpu.calls.call import BoundCall, Words
from thunk.backends.cpu.calls.native import native

MOST_POINTERS: Final = 8
STEP_WORDS: Final = 3 + 2 * MOST_POINTERS

_TEXT: Final = """
define i32 @steps(ptr %pointers, ptr %context) {
entry:
  %table = alloca [8 x ptr]
  %count = load i64, ptr %context
  %first = getelementptr i64, ptr %context, i64 1
  br label %head

head:
  %index = phi i64 [ 0, %entry ], [ %following, %next ]
  %more = icmp slt i64 %index, %count
  br i1 %more, label %step, label %done

step:
  %start = mul i64 %index, 19
  %own = getelementptr i64, ptr %first, i64 %start
  %context_at = getelementptr i64, ptr %own, i64 1
  %size_at = getelementptr i64, ptr %own, i64 2
  %places = getelementptr i64, ptr %own, i64 3
  %function = load ptr, ptr %own
  %inner = load ptr, ptr %context_at
  %size = load i64, ptr %size_at
  br label %operand

operand:
  %position = phi i64 [ 0, %step ], [ %after, %taken ]
  %left = icmp slt i64 %position, %size
  br i1 %left, label %taken, label %run

taken:
  %pair = shl i64 %position, 1
  %slot_at = getelementptr i64, ptr %places, i64 %pair
  %offset_at = getelementptr i64, ptr %slot_at, i64 1
  %slot = load i64, ptr %slot_at
  %offset = load i64, ptr %offset_at
  %base_at = getelementptr ptr, ptr %pointers, i64 %slot
  %base = load ptr, ptr %base_at
  %address = getelementptr i8, ptr %base, i64 %offset
  %to = getelementptr ptr, ptr %table, i64 %position
  store ptr %address, ptr %to
  %after = add i64 %position, 1
  br label %operand

run:
  %status = call i32 %function(ptr %table, ptr %inner)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %next, label %failed

next:
  %following = add i64 %index, 1
  br label %head

failed:
  ret i32 %status

done:
  ret i32 0
}
"""


@dataclass(frozen=True, slots=True)
class Place:
    """An operand of the whole call, by position, and bytes from its start."""

    position: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """A bound call and the places of its operands."""

    call: BoundCall
    places: tuple[Place, ...]


class BoundSteps(BoundCall):
    """Several bound calls as one."""

    def __init__(self, steps: Sequence[Step]) -> None:
        words: Words = (ctypes.c_int64 * (1 + STEP_WORDS * len(steps)))(len(steps))
        for index, step in enumerate(steps):
            if len(step.places) > MOST_POINTERS:
                raise ValueError(f"steps: expected at most {MOST_POINTERS} operands, got {step}")
            start = 1 + STEP_WORDS * index
            words[start : start + 3] = [step.call.function, step.call.context, len(step.places)]
            for at, place in enumerate(step.places):
                pair = start + 3 + 2 * at
                words[pair : pair + 2] = [place.position, place.offset]
        self.steps = tuple(steps)
        super().__init__(_walker(), words, 1)


@native("steps")
def _walker() -> str:
    """The code that runs the steps."""
    return _TEXT
