"""The committed type stubs say what the declarations say."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import make_stubs
import thunk
from thunk.ops.registry import find_packet


def test_the_stubs_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert make_stubs.main(["--check"]) == 0, capsys.readouterr().out


def test_every_stub_is_python() -> None:
    for file, text in make_stubs.stubs().items():
        ast.parse(text, filename=str(file))


def test_a_stale_stub_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tensor").mkdir()
    assert make_stubs.main(["--write"], tmp_path) == 0
    assert make_stubs.main(["--check"], tmp_path) == 0
    (tmp_path / "_functions.pyi").write_text("def add(): ...\n")
    assert make_stubs.main(["--check"], tmp_path) == 1
    assert "_functions.pyi is out of date" in capsys.readouterr().out


def test_signatures_follow_the_schema() -> None:
    packet = find_packet("zeros")
    assert packet is not None
    first, spread = make_stubs.signatures(packet, "function")
    assert first.startswith("(size: _Sequence[_int], *, dtype: _dtype | None = ...")
    assert spread.startswith("(*size: _int, dtype: _dtype | None = ...")
    assert first.endswith("out: _Any = ..., requires_grad: _bool = ...) -> _Tensor")
    packet = find_packet("add")
    assert packet is not None
    wanted = "(self, other: _Tensor | _Number, *, alpha: _Number = ...) -> _Tensor"
    assert make_stubs.signatures(packet, "method") == [wanted]


def test_everything_public_is_stubbed() -> None:
    text = make_stubs.module_stub("")
    defined = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    functions = make_stubs.public_functions("")
    assert {name for name in functions if name.isidentifier()} - defined == set()
    assert "float32: _dtype" in text
    assert hasattr(thunk, "float32")
