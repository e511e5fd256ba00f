"""Enters: functions of `Lanes`. Leaves: `vector_functions`, emitters by name for `llvmlite` values.

Invariant: an emitter takes vectors of one floating-point type and width, and returns one like them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from thunk.backends.cpu.llvm.math.lanes import DOUBLE, Lanes

Emitter = Callable[..., Any]
LaneFunction = Callable[..., Lanes]
Function = TypeVar("Function", bound=LaneFunction)

vector_functions: dict[str, Emitter] = {}


def in_double(function: LaneFunction) -> LaneFunction:
    """The function computed in double precision, whatever the precision of its operands."""

    def widened(*operands: Lanes) -> Lanes:
        if operands[0].format is DOUBLE:
            return function(*operands)
        return function(*(operand.widened() for operand in operands)).narrowed()

    return widened


def vector_function(name: str) -> Callable[[Function], Function]:
    """Registers a function of `Lanes` under a name."""

    def register(function: Function) -> Function:
        def emit(builder: Any, *values: Any) -> Any:
            return function(*(Lanes(builder, value) for value in values)).value

        if name in vector_functions:
            raise ValueError(f"{name}: expected a new name, got one that is taken; choose another")
        vector_functions[name] = emit
        return function

    return register
