"""Random programs over views, writes and gradients do in Thunk what they do in PyTorch.

Each program runs three times: eagerly; lazily, with every value looked at after every statement (a
barrier at every position); and lazily, with values looked at once, at the end. The lazy runs share
one trace, so later programs walk paths that earlier ones made.

A longer run: HYPOTHESIS_PROFILE=long pytest tests/torch/test_programs.py
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given

import programs
import thunk
from thunk.lazy.eager import execution

MODES = {"eager": (False, True), "barriers": (True, True), "lazy": (True, False)}


def compare(program: list[tuple[Any, ...]], lazy: bool, observe_each: bool) -> None:
    """Run on both; the first statement whose outcome differs is the finding."""
    theirs = programs.Run(torch, observe_each).run(program)
    with execution(lazy):
        ours = programs.Run(thunk, observe_each).run(program)
    for place, (want, got) in enumerate(zip(theirs, ours, strict=True)):
        assert got == want, (
            f"statement {place} of\n  " + "\n  ".join(map(repr, program)) + "\n"
            f"PyTorch: {want}\nThunk:   {got}"
        )


@pytest.mark.parametrize("mode", MODES)
def test_programs_agree_with_pytorch(mode: str) -> None:
    @given(programs.programs())
    def check(program: list[tuple[Any, ...]]) -> None:
        compare(program, *MODES[mode])

    check()
