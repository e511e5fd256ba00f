"""Enters: a program. Leaves: a finding, if any way of running it differs from PyTorch.

Invariant: every way of running looks at the same facts; the lazy ways share one trie with all
programs of the process, then run again on what they made warm; a cold one has a thread of its own.
"""

from __future__ import annotations

import traceback
from typing import NamedTuple

import torch

import thunk
from fuzz.lanes import in_new_lane, in_shared_lane, leave_shared_lane
from fuzz.program import Program
from fuzz.run import Outcome, disagreement, execute, sensitivity, tolerance_of
from thunk.base.config import config
from thunk.lazy.eager import execution


class Mode(NamedTuple):
    """One way of running a program on Thunk."""

    name: str
    lazy: bool
    every: bool  # look at everything after every statement: a barrier at every position
    cold: bool = False
    backend: str = "reference"


EAGER = Mode("eager", lazy=False, every=False)
LAZY = (
    Mode("lazy", lazy=True, every=False),
    Mode("lazy, warm", lazy=True, every=False),
    Mode("barriers", lazy=True, every=True),
    Mode("barriers, warm", lazy=True, every=True),
)
COLD = (
    Mode("lazy, cold", lazy=True, every=False, cold=True),
    Mode("barriers, cold", lazy=True, every=True, cold=True),
)
COMPILED = (
    Mode("compiled", lazy=True, every=False, backend="cpu"),
    Mode("compiled, barriers", lazy=True, every=True, backend="cpu"),
)
MODES = {mode.name: mode for mode in (EAGER, *LAZY, *COLD, *COMPILED)}


class Finding(NamedTuple):
    """Where a program's outcome differs from PyTorch's."""

    program: Program
    mode: Mode
    place: int
    words: str


def run_mode(program: Program, mode: Mode) -> Outcome:
    def go() -> Outcome:
        with config.override(backend=mode.backend), execution(mode.lazy):
            return execute(program, thunk, mode.every)

    if not mode.lazy:
        return go()
    return in_new_lane(go) if mode.cold else in_shared_lane(go)


def reference(program: Program) -> Outcome:
    return execute(program, torch, every=True)


def judge(program: Program, modes: tuple[Mode, ...], want: Outcome | None = None) -> Finding | None:
    """The first disagreement among the modes; None if there is none, or rounding explains it."""
    want = reference(program) if want is None else want
    for mode in modes:
        found = check(program, mode, want)
        if found is not None:
            return found
    return None


def check(program: Program, mode: Mode, want: Outcome) -> Finding | None:
    try:
        got = run_mode(program, mode)
    except Exception as raised:  # anything that is no PyTorch error is a crash of ours
        leave_shared_lane()
        where = traceback.extract_tb(raised.__traceback__)[-1]
        words = f"crash: {type(raised).__name__}: {raised} ({where.filename}:{where.lineno})"
        return Finding(program, mode, -1, words)
    place, words = disagreement(program, want, got)
    if place < 0:
        return None
    name, _, rest = words.partition(".")
    if rest.startswith(("values", "grad values")) or name == "log":
        tolerance = tolerance_of(want)
        limit = 0.0 if "int" in str(want.facts[place][name].get("dtype")) else tolerance / 10
        if sensitivity(program, want, torch, place, name) > limit:
            return None  # the last digits of the leaves decide: nobody is wrong
    leave_shared_lane()
    return Finding(program, mode, place, words)
