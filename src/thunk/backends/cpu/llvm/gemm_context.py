"""Enters: nothing. Leaves: the form of a product's context, and how wide its tiles are.

Invariant: the words of a context are those that the compiled code of `gemm.py` reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from thunk.backends.cpu.calls.native import vector_bytes, vector_registers

ROWS: Final = (6, 1)
PANEL_INNER: Final = 256
PANEL_ROWS: Final = 480


class Way(IntEnum):
    """How a product is computed."""

    SPREAD = 0
    DOT = 1
    PACKED = 2
    BLAS = 3


class Split(IntEnum):
    """What is divided among threads."""

    BATCH = 0
    ROWS = 1
    COLUMNS = 2


class Word(IntEnum):
    """The words of a context; the offsets of the batch's members follow, three a member."""

    THREADS = 0
    ROWS = 1
    COLUMNS = 2
    INNER = 3
    LEFT_DOWN = 4
    LEFT_ACROSS = 5
    RIGHT_DOWN = 6
    RIGHT_ACROSS = 7
    OUT_DOWN = 8
    MODE = 9
    BATCH = 10
    SPLIT = 11
    OUT_AT = 12
    BIAS_AT = 13
    SCRATCH_AT = 14
    FUNCTION = 15
    END = 16


LEFT_AT: Final = 0  # the positions of the first two pointers are fixed; a context tells the others
RIGHT_AT: Final = 1


@dataclass(frozen=True, slots=True)
class Widths:
    """How many columns the tiles of an element type have."""

    lanes: int
    vectors: tuple[int, ...]

    @property
    def widest(self) -> int:
        return self.lanes * self.vectors[0]


def widths(size: int) -> Widths:
    """For elements of `size` bytes on this machine."""
    vectors = (4, 1) if vector_registers() == 32 and vector_bytes() == 64 else (2, 1)
    return Widths(vector_bytes() // size, vectors)


def scratch_bytes(size: int, threads: int) -> int:
    """Bytes of scratch memory of a packed product."""
    return PANEL_INNER * widths(size).widest * size * threads
