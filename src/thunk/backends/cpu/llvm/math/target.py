"""Enters: the names of a processor's features. Leaves: `Machine`, what may be emitted.

Invariant: emitters ask `machine()` alone, so that code for another processor is one `with` away.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thunk.backends.cpu.machine import features


@dataclass(frozen=True)
class Machine:
    """What the instructions of a processor can do in one step.

    `fused`: multiply and add with one rounding. Without it, products are split into halves.
    `scales`: multiply by a power of two, with right results where they over- or underflow.
    """

    fused: bool
    scales: bool


def machine_with(instructions: Mapping[str, bool]) -> Machine:
    """The machine that has these features, named as LLVM names them."""

    def has(*names: str) -> bool:
        return all(instructions.get(name, False) for name in names)

    # ARM and others fuse in their base instruction set; only x86 made it an extension.
    x86 = "sse2" in instructions
    return Machine(fused=has("fma") or not x86, scales=has("avx512f", "avx512vl"))


@functools.cache
def host() -> Machine:
    """The machine that this process runs on."""
    named = (name for name in features().split(",") if name)
    return machine_with({name[1:]: name.startswith("+") for name in named})


_chosen: contextvars.ContextVar[Machine | None] = contextvars.ContextVar("machine", default=None)


def machine() -> Machine:
    """The machine that code is emitted for."""
    return _chosen.get() or host()


@contextlib.contextmanager
def emitting_for(instructions: Mapping[str, bool]) -> Iterator[Machine]:
    """Emits for a machine with these features; whoever masks one in LLVM masks it here too."""
    token = _chosen.set(machine_with(instructions))
    try:
        yield machine()
    finally:
        _chosen.reset(token)
