"""`python -m thunk script.py` shows a script, and its faults, as plain Python does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3] / "src"


def python(*arguments: str, folder: Path, thunk: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the interpreter, through Thunk or plainly."""
    words = [sys.executable, *(["-m", "thunk"] if thunk else []), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, env=environment, timeout=120
    )


PLAIN = """
import sys, os
import helper
print(__name__, __file__, sys.argv, __spec__, __package__)
print(os.path.basename(sys.path[0]), helper.VALUE, sys.modules["__main__"].__dict__ is globals())
print(__annotations__, __doc__, "__builtins__" in globals())
"""


def test_a_script_sees_what_plain_python_shows(tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "script.py").write_text(PLAIN)
    (folder / "helper.py").write_text("VALUE = 7")
    words = ("inner/script.py", "--epochs", "3", "-m", "--report")
    ours, theirs = (python(*words, folder=tmp_path, thunk=each) for each in (True, False))
    assert ours.stderr == ""
    assert ours.stdout == theirs.stdout


def test_a_module_and_its_relative_imports(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("VALUE = 7")
    (package / "train.py").write_text(
        "import sys, torch\nfrom .helper import VALUE\n"
        "print(__name__, __package__, VALUE, sys.argv[1:], torch)\n"
    )
    ran = python("-m", "package.train", "a", folder=tmp_path)
    assert ran.stdout == "__main__ package 7 ['a'] <module 'torch' (Thunk)>\n", ran.stderr
    ran = python("-c", "import sys, torch; print(torch.ones(2).sum(), sys.argv)", "b",
                 folder=tmp_path)  # fmt: skip
    assert ran.stdout == "tensor(2.) ['-c', 'b']\n", ran.stderr


@pytest.mark.parametrize(
    "code",
    [
        "def inner():\n    raise ValueError('no')\ninner()",
        "import sys\nsys.exit(3)",
        "import sys\nsys.exit('told')",
        "x = (",
        "import json\njson.loads('{')",
        "raise SystemExit",
        "print('fine')",
    ],
)
def test_faults_and_exit_codes_are_plain_python_s(tmp_path: Path, code: str) -> None:
    (tmp_path / "script.py").write_text(code)
    ours, theirs = (python("script.py", folder=tmp_path, thunk=each) for each in (True, False))
    assert ours.returncode == theirs.returncode
    assert ours.stdout == theirs.stdout
    path = f'File "{tmp_path}/script.py"'
    assert ours.stderr.replace(path, "") == theirs.stderr.replace(path, "")


def test_report_and_eager(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import torch, thunk.base.config as c\nprint(c.config.eager, torch.ones(2).sum().item())"
    )
    ran = python("--report", "--eager", "script.py", folder=tmp_path)
    assert ran.stdout == "True 2.0\n", ran.stderr
    assert "thunk:" in ran.stderr
    assert "peak memory" in ran.stderr


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("from torch.nn import Linaer", "thunk.nn.Linaer; the nearest is thunk.nn.Linear"),
        ("torch.ones(2).sofmax(0)", "Tensor.sofmax; the nearest is Tensor.softmax"),
        ("torch.Tensor.sofmax", "Tensor.sofmax; the nearest is Tensor.softmax"),
        ("torch.optim.adam_w", "torch.optim.adam_w; the nearest is torch.optim.AdamW"),
        ("torch.nn.functional.gridsample", "torch.nn.functional.gridsample; the nearest is"),
        ("torch.utils.data.DataLoadr", "torch.utils.data.DataLoadr; the nearest is torch.utils"),
    ],
)
def test_a_missing_name_says_what_is_there(tmp_path: Path, code: str, words: str) -> None:
    ran = python("-c", f"import torch\n{code}", folder=tmp_path)
    assert ran.returncode == 1
    assert f"this is Thunk, which does not have {words}" in ran.stderr


CHILDREN = """
import multiprocessing
import torch
import torch.multiprocessing as mp

def work(queue):
    queue.put((torch.__version__, torch.ones(2).sum().item()))

if __name__ == "__main__":
    for context in (multiprocessing.get_context("spawn"), mp.get_context("spawn")):
        queue = context.Queue()
        child = context.Process(target=work, args=(queue,))
        child.start()
        print(queue.get(timeout=60))
        child.join()
"""


@pytest.mark.slow
def test_spawned_children_run_on_thunk_too(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(CHILDREN)
    ran = python("script.py", folder=tmp_path)
    lines = ran.stdout.splitlines()
    assert len(lines) == 2, ran.stderr
    assert all("thunk" in line and "2.0" in line for line in lines)


def test_mistakes_on_the_command_line(tmp_path: Path) -> None:
    for words in (("nothing.py",), ("-m",), ("-c",)):
        ran = python(*words, folder=tmp_path)
        assert ran.returncode == 2
        assert "expected" in ran.stderr
    assert "check" in python("--help", folder=tmp_path).stdout
