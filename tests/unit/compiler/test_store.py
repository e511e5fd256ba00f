"""Compiled kernels on disk: found again by other processes, never trusted when damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from thunk.backends.cpu.llvm.store import Store, sweep
from thunk.base.config import config

SCRIPT = """
import numpy
from graphs import Recorder, agree
from thunk.backends.cpu.llvm.jit import loader
from thunk.backends.cpu.llvm.store import store
recorder = Recorder()
value = recorder.input(numpy.arange(40, dtype="f4"))
recorder.outputs(recorder.call("exp", recorder.call("mul.Tensor", value, 0.01)))
agree(recorder)
counts = store.counts
print(loader().compiled, counts.hits, counts.misses, counts.ignored, counts.unwritable)
"""


def run(folder: Path) -> list[int]:
    paths = os.pathsep.join(sys.path)
    environment = {**os.environ, "THUNK_CACHE_DIR": str(folder), "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    return [int(each) for each in done.stdout.split()]


def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    compiled, hits, misses, ignored, _ = run(folder)
    assert compiled == misses > 0 and hits == ignored == 0
    assert folder.stat().st_mode & 0o077 == 0
    assert all(each.stat().st_mode & 0o077 == 0 for each in folder.iterdir())
    assert run(folder) == [0, compiled, 0, 0, 0]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign", "empty", "writable"])
def test_damaged_entries_are_ignored_and_written_anew(tmp_path: Path, damage: str) -> None:
    with config.override(cache_dir=str(tmp_path)):
        store = Store()
        store.put("name", "key", b"code" * 100)
        path = tmp_path / "name"
        content = path.read_bytes()
        if damage == "truncated":
            path.write_bytes(content[: len(content) // 2])
        elif damage == "flipped":
            changed = bytearray(content)
            changed[-40] ^= 1
            path.write_bytes(bytes(changed))
        elif damage == "foreign":
            store.put("name", "another key", b"code")
        elif damage == "empty":
            path.write_bytes(b"")
        else:
            path.chmod(0o666)
        assert store.get("name", "key") is None
        assert (store.counts.hits, store.counts.ignored) == (0, 1)
        store.put("name", "key", b"new code")
        assert store.get("name", "key") == b"new code"


def test_folder_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    compiled, hits, _, ignored, unwritable = run(file)
    assert compiled == unwritable == ignored and hits == 0


def test_no_folder() -> None:
    store = Store()
    with config.override(cache_dir="none"):
        store.put("name", "key", b"code")
        assert store.get("name", "key") is None
    assert store.counts.writes == 0


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    with config.override(cache_dir=str(tmp_path)):
        store = Store()
        for position in range(5):
            store.put(f"name{position}", "key", bytes(1000))
            os.utime(tmp_path / f"name{position}", (position, position))
        assert store.get("name3", "another key") is None
        assert store.get("name3", "key") == bytes(1000)
        sweep(tmp_path, 2500)
        assert sorted(each.name for each in tmp_path.iterdir()) == ["name3", "name4"]
        store.clear()
        assert store.nbytes() == 0
