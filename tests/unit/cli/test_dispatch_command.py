"""`python -m thunk dispatch` prints tables and explains calls; it evaluates nothing."""

from __future__ import annotations

import pytest

from thunk.__main__ import main
from thunk.lazy.eager import execution


def test_prints_the_whole_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dispatch", "aten::add.Tensor"]) == 0
    text = capsys.readouterr().out
    assert "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor" in text
    assert "kernel registered to CPU" in text
    assert "arithmetic.py" in text


@pytest.mark.parametrize(
    ("lazy", "keys", "kernel"),
    [(True, "AutogradLazy, Lazy", "lazy_kernel"), (False, "AutogradCPU, CPU", "autograd_kernel")],
)
def test_explains_a_call(
    capsys: pytest.CaptureFixture[str], lazy: bool, keys: str, kernel: str
) -> None:
    with execution(lazy):
        assert main(["dispatch", "add", "float32[2,3]+grad", "1", "alpha=2"]) == 0
    text = capsys.readouterr().out
    assert f"arguments carry: {keys}" in text
    assert f"-> runs {kernel}" in text


def test_explains_a_meta_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dispatch", "mul", "float32[2]@meta", "2.0"]) == 0
    assert "meta_kernel" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["no_such_operator"],
        ["add", "__import__('os').getcwd()"],
        ["add", "float99[2]"],
        ["add", "float32[2]", "'text'"],
    ],
)
def test_mistakes_are_told_on_stderr(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dispatch", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert (
        "expected" in captured.err
        or "invalid combination" in captured.err
        or ("must be" in captured.err)
    )


def test_options_lists_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["options"]) == 0
    assert "THUNK_VERIFY" in capsys.readouterr().out
