"""Enters: sizes. Leaves: memory for results; blocks that nobody holds any more are given again.

Invariant: a block is given again only when no array over it is alive.
"""

from __future__ import annotations

import sys
from collections import deque

import numpy

from thunk.runtime.storage import Bytes, allocate

SMALLEST = 1 << 14  # smaller blocks cost less to allocate than to keep
LOOKS = 4
MOST_BYTES = 1 << 30


def _references_of_a_free_block() -> int:
    queue = deque([numpy.empty(1, numpy.uint8)])
    block = queue[0]
    return sys.getrefcount(block)


_FREE = _references_of_a_free_block()


class Blocks:
    """Memory of results, by size."""

    def __init__(self) -> None:
        self._known: dict[int, deque[Bytes]] = {}
        self.nbytes = 0

    def take(self, nbytes: int) -> Bytes:
        """Uninitialised memory of exactly this size."""
        if nbytes < SMALLEST:
            return allocate(nbytes)
        queue = self._known.setdefault(nbytes, deque())
        for _ in range(min(LOOKS, len(queue))):
            block = queue[0]
            queue.rotate(-1)
            if sys.getrefcount(block) == _FREE:
                return _aligned(block, nbytes)
        if self.nbytes + nbytes > MOST_BYTES:
            self.clear()
            queue = self._known.setdefault(nbytes, deque())
        block = numpy.empty(nbytes + 63, dtype=numpy.uint8)
        queue.append(block)
        self.nbytes += nbytes
        return _aligned(block, nbytes)

    def clear(self) -> None:
        """Keep nothing; arrays that are alive keep their own memory."""
        self._known.clear()
        self.nbytes = 0


def _aligned(block: Bytes, nbytes: int) -> Bytes:
    skip = -block.ctypes.data % 64
    return block[skip : skip + nbytes]


blocks = Blocks()
