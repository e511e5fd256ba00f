"""The packaging keeps its promises: dependencies have reasons, torch is pinned, CI is whole."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in requirements}


def documented(heading: str) -> set[str]:
    page = (ROOT / "docs/dependencies.md").read_text()
    section = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([\w.-]+)` \|", section, re.MULTILINE))


def test_every_dependency_has_a_reason() -> None:
    assert documented("At run time") == names(PROJECT["dependencies"])
    extras = PROJECT["optional-dependencies"]
    optional = {"vision"}
    assert documented("Optional") == set().union(*(names(extras[name]) for name in optional))
    development = (names(extras[name]) for name in extras.keys() - optional)
    assert documented("For development only") == set().union(*development)


def test_torch_is_for_tests_only_and_pinned() -> None:
    assert "torch" not in names(PROJECT["dependencies"])
    assert "torch==2.13.0" in PROJECT["optional-dependencies"]["torch-oracle"]


def test_no_file_of_the_house_names_a_package_index() -> None:
    for name in ("pyproject.toml", "Makefile", ".ci/run"):
        text = (ROOT / name).read_text()
        assert not re.search(r"index-url|find-links|https?://", text), name


def test_the_gate_calls_every_check() -> None:
    steps = re.findall(r"^step (\S+)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert steps == ["check", "test", "test-torch"]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {*steps, "demo", "bench", "docs", "clean"} <= set(targets)
