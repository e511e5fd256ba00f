"""The oracle's table, list of misses and floors, from made-up outcomes.

In: outcomes written by hand. Out: what the end of a run would say about them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.torch.oracle import known, report
from tests.torch.oracle.known import Known
from tests.torch.oracle.outcome import FAIL, MISS, PASS, SKIP, Outcome


def outcome(entry: str, check: str, status: str, dtype: str = "float32",
            detail: str = "") -> Outcome:
    return Outcome(entry, "made up", dtype, check, status, detail=detail)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "KNOWN", ())


def counts(outcomes: list[Outcome]) -> dict[str, tuple[int, int]]:
    return report.totals(report.standings(outcomes))["all"]


def test_an_entry_is_right_when_every_dtype_is() -> None:
    both = [outcome("a", "forward", PASS), outcome("a", "forward", PASS, "float64")]
    assert counts(both)["forward"] == (1, 1)
    assert counts([*both, outcome("a", "forward", FAIL, "int64")])["forward"] == (0, 1)


def test_complete_needs_every_form() -> None:
    right = [outcome("a", "forward", PASS), outcome("a", "out", PASS), outcome("a", "errors", SKIP)]
    assert counts(right)["complete"] == (1, 1)
    for form in report.FORMS:
        assert counts([*right, outcome("a", form, FAIL)])["complete"] == (0, 1)
    assert counts([outcome("a", "forward", MISS)])["complete"] == (0, 1)


def test_gradients_count_only_where_they_exist() -> None:
    outcomes = [outcome("a", "forward", PASS), outcome("b", "forward", PASS),
                outcome("b", "gradient", PASS), outcome("b", "gradgrad", FAIL)]
    assert counts(outcomes)["gradient"] == (1, 1)
    assert counts(outcomes)["gradgrad"] == (0, 1)
    wrong_in_place = [*outcomes, outcome("b", "inplace_gradient", FAIL)]
    assert counts(wrong_in_place)["gradient"] == (0, 1)


def test_entries_outside_are_not_counted_but_named() -> None:
    outcomes = [outcome("a", "forward", PASS), outcome("b", "all", SKIP, "", "a reason")]
    assert counts(outcomes)["entries"] == (1, 1)
    assert counts(outcomes)["covered"] == (1, 1)
    assert "a reason: b" in report.table(outcomes)


def test_floors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    floors = tmp_path / "floors.toml"
    monkeypatch.setattr(report, "FLOORS", floors)
    outcomes = [outcome("a", "forward", PASS), outcome("b", "forward", FAIL)]
    floors.write_text("forward = 1\ncovered = 2\n")
    assert report.below_floor(outcomes) == []
    floors.write_text("forward = 2\n")
    assert report.below_floor(outcomes) == ["forward: 1 entries right, the floor is 2"]


def test_the_floors_name_columns() -> None:
    floors = tomllib.loads(report.FLOORS.read_text())
    assert set(floors) == set(report.COLUMNS) - {"entries"}
    assert all(isinstance(floor, int) for floor in floors.values())


def test_a_known_miss_has_its_reason_and_may_not_be_stale(
        monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = outcome("a", "out", FAIL)
    assert report.misses([wrong]) == [(wrong, None)]
    assert "NOT LISTED" in report.miss_list([wrong])
    monkeypatch.setattr(known, "KNOWN", (Known("a", "out", "because", ("float32",)),))
    assert report.misses([wrong]) == [(wrong, "because")]
    assert known.stale([wrong]) == []
    assert known.stale([outcome("a", "out", PASS)]) == ["a out float32: because"]
    assert known.stale([outcome("a", "out", PASS, "float64")]) == []
    assert known.stale([outcome("a", "out", SKIP)]) == []


def test_a_line_for_every_check_is_stale_only_when_all_pass(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "KNOWN", (Known("a", "*", "because"),))
    mixed = [outcome("a", "forward", PASS), outcome("a", "out", FAIL)]
    assert known.stale(mixed) == []
    assert known.stale([outcome("a", "forward", PASS), outcome("a", "out", PASS)])


def test_a_miss_that_nobody_listed_has_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "KNOWN", (Known("a", "out", "because"),))
    assert known.known_reason(outcome("a", "out", MISS)) == "because"
    assert known.known_reason(outcome("a", "forward", MISS)) is None
    assert known.known_reason(outcome("b", "out", MISS)) is None


@pytest.mark.parametrize(("right", "status"), [(True, 0), (False, 1)])
def test_a_whole_run_below_a_floor_fails(tmp_path: Path, right: bool, status: int) -> None:
    checks = ("forward", "gradient", "gradgrad")
    lines = [json.dumps(outcome(f"made up {number}", check, PASS if right else FAIL).as_json())
             for number in range(700) for check in checks]
    (tmp_path / "main.jsonl").write_text("\n".join(lines) + "\n")
    this = Path(__file__)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(this),
               "-k", "test_the_floors_name_columns"]
    run = subprocess.run(command, cwd=this.parents[3], capture_output=True, text=True, check=False,
                         env={**os.environ, "THUNK_ORACLE_RESULTS": str(tmp_path)})
    assert run.returncode == status, run.stdout + run.stderr
    assert ("BELOW THE FLOOR forward: 0 entries right" in run.stdout) is not right
