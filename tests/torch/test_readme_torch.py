"""What the first page says of PyTorch is true of it: its numbers, and those of its database."""

from __future__ import annotations

import contextlib
import io
import re
import tomllib
from pathlib import Path

from tests.torch.oracle.catalog import entries

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "README.md").read_text(encoding="utf-8")


def test_torch_prints_what_the_first_example_shows() -> None:
    found = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    code, expected = found.groups()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(re.sub(r"\bthunk\b", "torch", code), {})
    assert printed.getvalue() == expected


def test_the_counts_of_the_oracle_are_its_floors() -> None:
    said = re.search(
        r"database of (\d+) operator tests.*?(\d+) entries are right.*?(\d+) are left out",
        " ".join(PAGE.split()),
    )
    assert said is not None
    floors = tomllib.loads((ROOT / "tests/torch/oracle/floors.toml").read_text())
    outside = sum(entry.outside is not None for entry in entries())
    assert [int(each) for each in said.groups()] == [len(entries()), floors["forward"], outside]
