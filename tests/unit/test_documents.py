"""What the documents show is true: each page's Python runs, and prints what the page says.

A ```python block is run; a ```text block right after it is what it must print. The blocks of a
page share their names, in a process of their own.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import check_links

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n?^```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
RUNNER = """
import contextlib, io, json, sys
names, printed = {"__name__": "__main__"}, []
for number, code in enumerate(json.load(sys.stdin), 1):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(code, f"block {number}", "exec"), names)
    printed.append(output.getvalue())
json.dump(printed, sys.stdout)
"""


def blocks_of(page: Path) -> list[tuple[str, str | None]]:
    return [(m.group(1), m.group(2)) for m in BLOCK.finditer(page.read_text(encoding="utf-8"))]


PAGES = [page for page in check_links.documents(ROOT) if blocks_of(page)]


def check(page: Path, **environment: str) -> None:
    """Run the page's blocks in a process of their own, and compare what they print."""
    blocks = blocks_of(page)
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps([code for code, _ in blocks]),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "src"), **environment},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    for (code, expected), printed in zip(blocks, json.loads(done.stdout), strict=True):
        if expected is not None:
            first = code.splitlines()[0]
            assert printed.strip("\n") == expected.strip("\n"), f"in the block of {first!r}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_page_tells_the_truth(page: Path) -> None:
    check(page)


@pytest.mark.parametrize("way", ["THUNK_LAZY", "THUNK_EAGER"])
def test_the_readme_holds_in_both_ways_of_execution(way: str) -> None:
    check(ROOT / "README.md", **{way: "1"})


def test_the_readme_shows_an_example() -> None:
    assert any(expected for _, expected in blocks_of(ROOT / "README.md"))


def test_the_first_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, "examples/first_steps.py"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "src")},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "accuracy 9" in done.stdout
    assert "AutogradCPU" in done.stdout
