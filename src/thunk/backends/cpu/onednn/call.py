"""Enters: specs. Leaves: library calls that oneDNN executes.

Invariant: a primitive is made for the number of threads that it will run with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from thunk.backends.cpu.calls.call import (
    SCRATCHPAD,
    Access,
    BoundCall,
    LibraryCall,
    Operand,
    in_order,
)
from thunk.backends.cpu.calls.layout import Layout
from thunk.backends.cpu.calls.pool import openmp, usable_threads
from thunk.backends.cpu.calls.specs import Accumulate, CallSpec, Reorder
from thunk.backends.cpu.onednn.bound import BoundPrimitive
from thunk.backends.cpu.onednn.codes import Argument
from thunk.backends.cpu.onednn.descriptors import descriptor
from thunk.backends.cpu.onednn.handles import Handle, engine, made
from thunk.backends.cpu.onednn.primitive import added_layouts, describe, written


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """oneDNN divides its work among as many threads as OpenMP has when a primitive is made."""
    library = openmp()
    assert library is not None
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(count)
    try:
        yield
    finally:
        library.omp_set_num_threads(before)


class OneDnnCall(LibraryCall):
    """A primitive."""

    spec: CallSpec

    def __init__(self, spec: CallSpec) -> None:
        self.spec = spec
        self.threads = usable_threads(spec.threads)
        with _threads(self.threads):
            self._described = describe(spec)
            self.implementation = self._described.implementation
            self.primitive = self._described.primitive()
        named = [
            Operand(name, self._layout(name, argument), self._access(name))
            for name, argument in self._described.arguments.items()
        ]
        self.operands = in_order(named, self._described.scratchpad)

    def _layout(self, name: str, argument: int) -> Layout:
        if name.startswith("added"):  # the library has no question for these
            return added_layouts(self.spec)[int(name.removeprefix("added"))]
        asked: Any = getattr(self.spec, name)
        return asked if asked.is_plain else self._described.layout(argument)

    def _access(self, name: str) -> Access:
        if name not in written(self.spec):
            return "read"
        post = () if isinstance(self.spec, Reorder) else self.spec.post
        return "update" if any(isinstance(each, Accumulate) for each in post) else "write"

    def argument(self, operand: Operand) -> int:
        """The library's number of an operand."""
        if operand.name == SCRATCHPAD:
            return Argument.SCRATCHPAD
        return self._described.arguments[operand.name]

    def memory(self, operand: Operand) -> Handle:
        """A memory object for an operand, without an address."""
        if operand.name.startswith("added"):
            own = descriptor(operand.layout)
            return made("memory", "memory_create", own, engine(), None)
        described = self._described.memory(self.argument(operand))
        return made("memory", "memory_create", described, engine(), None)

    def serial(self) -> OneDnnCall:
        """The same call for one thread, in the layouts that were chosen here."""
        chosen: dict[str, Any] = {
            operand.name: operand.layout
            for operand in self.operands
            if operand.name != SCRATCHPAD and not operand.name.startswith("added")
        }
        return OneDnnCall(replace(self.spec, threads=1, **chosen))

    def bind(self) -> BoundCall:
        """The primitive with memory objects of its own."""
        return BoundPrimitive(self)
