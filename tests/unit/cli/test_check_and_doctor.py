"""`check` lists missing names without running anything; `doctor` tells what works."""

from __future__ import annotations

from pathlib import Path

import pytest

from thunk.__main__ import main

SCRIPT = """
import os
os.abort()
import torch as t
import torch.nn.functional as F
import torch.nonsense
from torch import nn, nonsuch
from torch.utils import nothing as n
import torch.cuda

def forward(self, x):
    F.relu(x).foo.bar()
    t.relu_of_moon(x)
    nn.Linaer(1, 2)
    nn.Linear(1, 2).whatever
    t.Tensor.no_such_method
    t.version.cuda.split(".")
    t.float32.is_floating_point
    t.backends.cudnn.benchmark = True
    t.ops.aten.add.Tensor
    t.inf
    torch.cuda.is_available()
"""


def test_check_lists_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    assert main(["check", str(tmp_path)]) == 1
    text = capsys.readouterr().out
    missing = [line.split(": ")[1].split(";")[0] for line in text.splitlines()[:-1]]
    assert missing == [
        "torch.Tensor.no_such_method", "torch.nn.Linaer", "torch.nonsense", "torch.nonsuch",
        "torch.relu_of_moon", "torch.utils.nothing",
    ]  # fmt: skip
    assert "script.py:14: torch.nn.Linaer; the nearest is torch.nn.Linear" in text
    assert text.splitlines()[-1].endswith("6 missing in Thunk")


def test_check_of_a_complete_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "script.py"
    path.write_text("import torch\nprint(torch.ones(2).sum())\n")
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == "2 names of PyTorch used, 0 missing in Thunk\n"


def test_check_tells_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.py").write_text("x = (")
    for path in ("nowhere.py", "broken.py"):
        assert main(["check", str(tmp_path / path)]) == 2
        assert path in capsys.readouterr().err


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    for word in ("python", "processor", "threads", "cache", "numpy", "llvmlite", "oneDNN"):
        assert word in text
    assert "BROKEN" not in text
