"""Enters: arrays that are known when a program is compiled. Leaves: buffers of them.

Invariant: equal arrays are one buffer; its memory comes with the program and nobody writes it.
"""

from __future__ import annotations

import numpy

from thunk.compiler.access import Buffer
from thunk.runtime.storage import Bytes, allocate
from thunk.types.dtype import from_numpy_dtype


class Constants:
    """The tables of one program."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], Buffer] = {}
        self.buffers: list[Buffer] = []
        self.memories: list[Bytes] = []

    def buffer(self, array: numpy.ndarray) -> Buffer:
        """Memory filled with `array` in row-major order."""
        array = numpy.ascontiguousarray(array)
        key = (array.dtype.str, array.tobytes())
        found = self._known.get(key)
        if found is None:
            name = f"const{len(self.buffers)}"
            found = self._known[key] = Buffer(name, from_numpy_dtype(array.dtype), array.size)
            memory = allocate(array.nbytes)
            memory[:] = array.reshape(-1).view(numpy.uint8)
            self.buffers.append(found)
            self.memories.append(memory)
        return found
