"""`python -m thunk demo` trains, draws and tells; a few digits are enough to see that it learns."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from thunk.__main__ import main
from thunk.base.config import config
from thunk.compat.plot import svg


def test_the_demo_trains_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "demo.svg"
    words = ["--epochs", "2", "--samples", "96", "--batch-size", "16", "--plot", str(plot)]
    assert main(["demo", *words]) == 0
    text = capsys.readouterr().out
    assert "epoch 2:" in text
    right = float(text.split("epoch 2: ")[1].split("%")[0])
    assert right > 20, "worse than after two small epochs"
    account = text.split("thunk:")[1]
    assert int(account.split("UncachedCompile")[1].split()[0].replace(",", "")) > 0, "it compiled"
    assert "no operation was recorded" not in account
    assert "fallbacks: none" in account
    assert "found again" in account
    for word in ("tracing, and Python beside it", "compiling", "running"):
        assert float(account.split(f"{word} ")[1].split(" s")[0]) > 0, word
    lines = ElementTree.parse(plot).getroot().findall(".//{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2


def test_the_demo_runs_eagerly_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--epochs", "1", "--samples", "16", "--plot", str(tmp_path / "demo.svg")]
    with config.override(eager=True):
        assert main(["demo", *words]) == 0
    assert "%" in capsys.readouterr().out


def test_the_demo_stops_in_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--seconds", "0", "--samples", "64", "--plot", str(tmp_path / "demo.svg")]
    assert main(["demo", *words]) == 0
    assert "epoch 2" not in capsys.readouterr().out


def test_curves_of_any_length() -> None:
    for values in ([], [1.0], [0.5, 0.5], [3.0, -1.0, 2.0]):
        places = list(range(len(values)))
        ElementTree.fromstring(svg("<title>", [("a & b", places, values)]))
