"""Enters: a program and a test that it fails. Leaves: a shorter one that fails it in the same way.

Invariant: what is returned was itself seen to fail.
"""

from __future__ import annotations

from collections.abc import Callable

from fuzz.program import Program

Fails = Callable[[Program], bool]


def shrink(program: Program, fails: Fails, budget: int = 400) -> Program:
    """Leave out ever smaller pieces, last ones first, until each statement is needed."""
    size = max(len(program) // 2, 1)
    while budget > 0:
        smaller, budget = _without_pieces(program, size, fails, budget)
        if size == 1 and len(smaller) == len(program):
            smaller, budget = _without_lines(program, fails, budget)
            if smaller == program:
                return program
        program = smaller
        size = max(min(size // 2, len(program) // 2), 1)
    return program


def _without_pieces(program: Program, size: int, fails: Fails, budget: int) -> tuple[Program, int]:
    place = len(program) - size
    while place > -size and budget > 0:
        start = max(place, 0)
        candidate = program[:start] + program[start + size :]
        budget -= 1
        if candidate and len(candidate) < len(program) and fails(candidate):
            program = candidate
        place -= size
    return program, budget


def _without_lines(program: Program, fails: Fails, budget: int) -> tuple[Program, int]:
    """Statements of several lines: try each without one of them, or without its `with`."""
    for place, (kind, source) in enumerate(program):
        lines = source.split("\n")
        if len(lines) == 1 or budget <= 0:
            continue
        shorter = ["\n".join(lines[:i] + lines[i + 1 :]) for i in range(len(lines))]
        if lines[0].startswith("with "):
            shorter.insert(0, "\n".join(line.strip() for line in lines[1:]))
        for text in shorter:
            budget -= 1
            candidate = [*program[:place], (kind, text), *program[place + 1 :]]
            if _compiles(text) and fails(candidate):
                return candidate, budget
    return program, budget


def _compiles(text: str) -> bool:
    try:
        compile(text, "<shorter>", "exec")
    except SyntaxError:
        return False
    return bool(text.strip())
