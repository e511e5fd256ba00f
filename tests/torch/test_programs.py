"""Random programs over views, writes and gradients do in Thunk what they do in PyTorch.

A longer run: HYPOTHESIS_PROFILE=long pytest tests/torch/test_programs.py
"""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import given, settings

import programs
import thunk


def compare(program: list[tuple[Any, ...]]) -> None:
    """Run on both; the first statement whose outcome differs is the finding."""
    theirs = programs.Run(torch).run(program)
    ours = programs.Run(thunk).run(program)
    for place, (want, got) in enumerate(zip(theirs, ours, strict=True)):
        assert got == want, (
            f"statement {place} of\n  " + "\n  ".join(map(repr, program[: place + 1])) + "\n"
            f"PyTorch: {want}\nThunk:   {got}"
        )


@given(programs.programs())
@settings(max_examples=300, deadline=None)
def test_programs_agree_with_pytorch(program: list[tuple[Any, ...]]) -> None:
    compare(program)
