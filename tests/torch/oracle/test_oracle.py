"""Every entry of torch's operator database in every dtype, one test each.

In: the library named by THUNK_ORACLE_SUBJECT (thunk). A miss fails unless `known.py` lists it; a
listed miss that is right fails too. The table and the floors follow at the end of the run.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path

import pytest
import torch
from tests.torch.oracle.catalog import Entry, entries
from tests.torch.oracle.known import known_reason, stale
from tests.torch.oracle.outcome import FAIL, MISS, SKIP, Outcome
from tests.torch.oracle.run import judge_entry
from tests.torch.oracle.subject import Subject
from tests.torch.oracle.verdict import Case

MOST_SAMPLES = 8
CASES = [(entry, dtype) for entry in entries() if entry.outside is None
         for dtype in entry.dtypes()]


def case_name(value: object) -> str:
    if isinstance(value, Entry):
        return value.full_name
    return str(value).removeprefix("torch.")


@functools.cache
def subject() -> Subject:
    torch.set_num_threads(1)
    return Subject(os.environ.get("THUNK_ORACLE_SUBJECT", "thunk"))


def record(outcomes: list[Outcome]) -> None:
    """Leave the outcomes for the table; each process writes a file of its own."""
    folder = os.environ.get("THUNK_ORACLE_RESULTS")
    if folder is None:
        return
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    with (Path(folder) / f"{worker}.jsonl").open("a") as file:
        file.writelines(json.dumps(outcome.as_json()) + "\n" for outcome in outcomes)


@pytest.mark.parametrize(("entry", "dtype"), CASES, ids=case_name)
def test_entry(entry: Entry, dtype: torch.dtype) -> None:
    outcomes = judge_entry(Case(entry, subject(), dtype, MOST_SAMPLES), [])
    record(outcomes)
    wrong = [outcome for outcome in outcomes if outcome.status in (FAIL, MISS)]
    listed = subject().name == "thunk"  # the lists are of its misses, and of no other subject's
    unlisted = [f"{outcome.check}: {outcome.detail}" for outcome in wrong
                if not (listed and known_reason(outcome))]
    old = [f"known.py lists a miss that is right: {line}" for line in stale(outcomes) if listed]
    assert not unlisted + old, "\n".join([f"{entry.full_name} {dtype}", *unlisted, *old])


def test_entries_outside_are_recorded() -> None:
    outside = [entry for entry in entries() if entry.outside is not None]
    record([Outcome(entry.full_name, entry.family, "", "all", SKIP, detail=entry.outside or "")
            for entry in outside])
    assert len(outside) + len({entry.full_name for entry, _ in CASES}) == len(entries())
