"""Samples of every entry of torch's operator database, recorded and compiled for the CPU.

In: `THUNK_COMPILED_SAMPLES` (3) samples of a check. A wrong sample fails unless
`compiled_known.py` lists its entry; the table and the floors follow at the end of the run.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest
import torch
from tests.torch.oracle import compiled_report
from tests.torch.oracle.catalog import Entry, entries
from tests.torch.oracle.census import often_used, operators_outside, reason
from tests.torch.oracle.compiled import checks_of, judge_compiled
from tests.torch.oracle.compiled_known import known_reason
from tests.torch.oracle.subject import Subject
from tests.torch.oracle.verdict import Case

from thunk.backends.cpu.runner import threads

MOST_SAMPLES = int(os.environ.get("THUNK_COMPILED_SAMPLES", "3"))
CASES = [(entry, dtype) for entry in entries() if entry.outside is None
         for dtype in entry.dtypes()]


def case_name(value: object) -> str:
    if isinstance(value, Entry):
        return value.full_name
    return str(value).removeprefix("torch.")


@functools.cache
def subject() -> Subject:
    torch.set_num_threads(1)
    threads().set(1)
    return Subject("thunk")


@pytest.mark.parametrize(("entry", "dtype"), CASES, ids=case_name)
def test_entry(entry: Entry, dtype: torch.dtype) -> None:
    case = Case(entry, subject(), dtype, MOST_SAMPLES)
    tallies = [judge_compiled(case, check)
               for check in checks_of(entry, dtype)]
    folder = os.environ.get("THUNK_ORACLE_RESULTS")
    if folder is not None:
        compiled_report.write(
            Path(folder), os.environ.get("PYTEST_XDIST_WORKER", "main"), tallies)
    wrong = [f"{each.check}: {line}" for each in tallies for line in each.failures
             if not known_reason(each.entry, each.check)]
    if entry.name in often_used():
        wrong += [f"{each.check}: {name} is often used and not compiled"
                  for each in tallies for name in operators_outside(each) if not reason(name)]
    assert not wrong, "\n".join([f"{entry.full_name} {dtype}", *wrong])
