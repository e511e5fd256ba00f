"""Enters: a random operator's call. Leaves: the counter's operator that a step records for it.

Invariant: the numbers depend on the seed and on how many random operators were recorded since it
was set, never on when or where they are computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thunk.ir.opdef import OpDef
from thunk.ops.registry import find_op
from thunk.runtime.random import default_generator

if TYPE_CHECKING:
    from thunk.lazy.trace import Trace


class Seed(int):
    """The seed of a random operator."""


class Offset(int):
    """The number of a random operator."""


def next_numbers() -> tuple[Seed, Offset]:
    """Seed and number of one more random operator."""
    seed, number = default_generator.count()
    return Seed(seed - (1 << 64) if seed >> 63 else seed), Offset(number)


def drawn(trace: Trace, op: OpDef, args: tuple[Any, ...]) -> tuple[OpDef, tuple[Any, ...]] | None:
    """The operator of a counter's numbers and its arguments; None where there is none."""
    if op.full_name == "aten::native_dropout" and args[2] is not False:
        found = find_op("aten::_counter_dropout")
        assert found is not None
        return found, (args[0], float(args[1]), *next_numbers())
    return None
