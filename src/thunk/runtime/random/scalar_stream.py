"""Random numbers one at a time, for samplers whose next step depends on the last number.

A generator enters; Python floats leave. Invariant: when the stream is closed, the generator stands
right behind the last number that was taken, as if nothing had been drawn ahead.
"""

from __future__ import annotations

import math
from types import TracebackType

from thunk.runtime.random.generator import Generator, UInt8Array
from thunk.runtime.random.uniforms import standard_uniform_double

_FIRST_BLOCK = 64
_LARGEST_BLOCK = 65536


class ScalarStream:
    """A context manager: it holds the generator's lock and draws ahead in growing blocks."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._block: list[float] = []
        self._taken = 0
        self._next_size = _FIRST_BLOCK
        self._state_before_block: UInt8Array | None = None

    def __enter__(self) -> ScalarStream:
        self._generator.lock.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._give_back()
        finally:
            self._generator.lock.release()

    def uniform(self) -> float:
        """The next multiple of 2**-53 in [0, 1)."""
        if self._taken == len(self._block):
            self._state_before_block = self._generator.get_state()
            self._block = standard_uniform_double(self._generator, self._next_size).tolist()
            self._taken = 0
            self._next_size = min(2 * self._next_size, _LARGEST_BLOCK)
        value = self._block[self._taken]
        self._taken += 1
        return value

    def normal(self) -> float:
        """The next standard normal; every second one has waited in the generator."""
        waiting = self._generator.next_double_sample
        if waiting is not None:
            self._generator.next_double_sample = None
            return waiting
        first, second = self.uniform(), self.uniform()
        radius = math.sqrt(-2.0 * math.log1p(-second))
        angle = 2.0 * math.pi * first
        self._generator.next_double_sample = radius * math.sin(angle)
        return radius * math.cos(angle)

    def _give_back(self) -> None:
        if self._state_before_block is None or self._taken == len(self._block):
            return
        waiting = self._generator.next_double_sample
        self._generator.set_state(self._state_before_block)
        self._generator.draw64(self._taken)
        self._generator.next_double_sample = waiting
