"""Bad calls: Thunk raises the type of exception that PyTorch raises, and names the operator.

In: `bad_calls.txt`, one call a line. Out: a failure where the types differ, where one of the two
does not raise, or where the message does not name the operator that refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import thunk

LINES = (Path(__file__).parent / "bad_calls.txt").read_text(encoding="utf-8").splitlines()
CALLS = [
    tuple(part.strip() for part in line.split("|", 1))
    for line in LINES
    if line and not line.startswith("#")
]


def raised(module: Any, call: str) -> BaseException | None:
    try:
        result = eval(call, {"t": module})
        if module is thunk:
            thunk.lazy.mark_step(wait=True)  # what only computed values tell is told now
        del result
    except Exception as error:
        return error
    return None


def builtin_type(error: BaseException | None) -> type:
    """What a script catches: `LinAlgError` is a RuntimeError to both."""
    kinds = [kind for kind in type(error).__mro__ if kind.__module__ == "builtins"]
    return kinds[0]


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[call for _, call in CALLS])
def test_a_bad_call_raises_what_pytorch_raises(name: str, call: str) -> None:
    expected, got = raised(torch, call), raised(thunk, call)
    assert expected is not None, "PyTorch accepts this call"
    assert builtin_type(got) is builtin_type(expected), f"{got!r} instead of {expected!r}"
    assert name in str(got), f"{got} does not name {name}"


def test_there_are_enough_calls() -> None:
    assert len(CALLS) >= 150
