"""Scripts in the style of PyTorch's examples print the same losses on Thunk as on PyTorch.

In: `tests/scripts/*.py`, which seed themselves. Out: each run on both, line by line compared.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tests" / "scripts"
RELATIVE = 1e-4
RUNS = [(path.stem, ()) for path in sorted(SCRIPTS.glob("*.py"))] + [
    ("language_model", ("--model", "GRU")),
    ("language_model", ("--model", "RNN")),
]


def lines_of(text: str) -> list[tuple[str, float]]:
    return [(name, float(value)) for name, value in (line.split() for line in text.splitlines())]


def on_torch(path: Path, arguments: tuple[str, ...]) -> str:
    """Run a script in this process, where torch is loaded already."""
    before, printed = sys.argv, io.StringIO()
    sys.argv = [str(path), *arguments]
    try:
        with contextlib.redirect_stdout(printed), torch.random.fork_rng():
            runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv = before
    return printed.getvalue()


def on_thunk(path: Path, arguments: tuple[str, ...]) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "thunk", str(path), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "THUNK_VERIFY": "0"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


NAMES = ["-".join([name, *arguments[1:]]) for name, arguments in RUNS]


@pytest.mark.parametrize(("name", "arguments"), RUNS, ids=NAMES)
def test_losses_match_step_by_step(name: str, arguments: tuple[str, ...]) -> None:
    path = SCRIPTS / f"{name}.py"
    theirs, ours = (lines_of(run(path, arguments)) for run in (on_torch, on_thunk))
    assert len(theirs) >= 20
    assert [each[0] for each in ours] == [each[0] for each in theirs]
    wrong = [
        f"{step}: torch {wanted}, thunk {found}"
        for (step, wanted), (_, found) in zip(theirs, ours)
        if not math.isclose(wanted, found, rel_tol=RELATIVE, abs_tol=1e-7)
    ]
    assert wrong == []
