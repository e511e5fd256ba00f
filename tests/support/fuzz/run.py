"""Enters: a program and a library. Leaves: the error of each statement and the facts it left.

Invariant: a run keeps no reference to what the program made but the program's own names.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

from fuzz import state
from fuzz.program import Program, compiled, new_space


class Outcome(NamedTuple):
    """One error name a statement ("" for none); facts after each, or only after the last."""

    errors: list[str]
    facts: list[state.Facts]


EXPECTED = (
    RuntimeError,
    ValueError,
    IndexError,
    TypeError,
    NameError,
    AttributeError,
    NotImplementedError,
    KeyError,
    ZeroDivisionError,
    OverflowError,
    AssertionError,
    BufferError,
    BrokenPipeError,
)


def execute(program: Program, library: Any, every: bool) -> Outcome:
    """Run each statement; an error is an outcome, and the program goes on."""
    space = new_space(library)
    errors: list[str] = []
    facts: list[state.Facts] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, (_, source) in enumerate(program):
            errors.append(step(source, space))
            last = place == len(program) - 1
            if every or last:
                facts.append(state.look(library, space, last))
    return Outcome(errors, facts)


def execute_into(program: Program, library: Any) -> dict[str, Any]:
    """Run a program and leave the names it made."""
    space = new_space(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, source in program:
            step(source, space)
    return space


def step(source: str, space: dict[str, Any]) -> str:
    """Run one statement; the name of its error, or nothing."""
    try:
        exec(compiled(source), space)
    except EXPECTED as raised:
        return type(raised).__name__
    return ""


def disagreement(program: Program, want: Outcome, got: Outcome) -> tuple[int, str]:
    """The first statement after which the two differ, and how; (-1, "") if nowhere.

    `want` has facts for every statement, `got` for every statement or for the last.
    """
    every = len(got.facts) == len(got.errors)
    tolerance = tolerance_of(want)
    # How many writes a step of an optimizer takes is its own affair, and so is the counting of
    # writes to what inference tensors become outside.
    trained = any(".step()" in source or "inference" in source for _, source in program)
    skip = frozenset(("version",)) if trained else frozenset()
    for place, (expected, error) in enumerate(zip(want.errors, got.errors, strict=True)):
        if expected != error:
            return place, f"error: expected {expected or 'none'}, got {error or 'none'}"
        last = place == len(want.errors) - 1
        if every or last:
            found = got.facts[place if every else 0]
            words = state.difference(want.facts[place], found, tolerance, skip)
            if words:
                return place, words
    return -1, ""


def tolerance_of(want: Outcome) -> float:
    """How far results may lie apart, by the coarsest dtype that occurred."""
    seen = {each["dtype"] for facts in want.facts for each in facts.values() if "dtype" in each}
    if "bfloat16" in seen:
        return 4e-2
    return 2e-5 if "float32" in seen else 1e-9


def sensitivity(program: Program, want: Outcome, library: Any, place: int, name: str) -> float:
    """How far a fact moves when leaves change in their last digits; large means: no finding."""
    from fuzz.program import perturbed

    moved = 0.0
    for seed in range(3):
        other = execute(perturbed(program, seed), library, every=True)
        if other.errors != want.errors:
            return math.inf
        moved = max(moved, state.spread(want.facts[place], other.facts[place]).get(name, 0.0))
    return moved
