"""The tests with torch as oracle: the operator oracle's table and floors close the run.

In: the outcomes that test processes leave in a temporary folder. Out: the table on the terminal,
and a failed run when a floor is not reached.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from tests.torch import census
from tests.torch.oracle import compiled_report, report
from tests.torch.oracle.outcome import Outcome

RESULTS = "THUNK_ORACLE_RESULTS"
WHOLE_RUN = 600  # entries seen; below it someone chose a few tests, and floors mean nothing


def pytest_configure(config: pytest.Config) -> None:
    """The controlling process makes the folder; workers inherit its name."""
    if RESULTS not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="oracle-")
        os.environ[RESULTS] = folder.name
        config.add_cleanup(folder.cleanup)


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def results() -> list[Outcome]:
    return report.read_results(Path(os.environ[RESULTS]))


def tallies() -> list[compiled_report.Tally]:
    return compiled_report.read(Path(os.environ[RESULTS]))


def floors_missed() -> list[str]:
    outcomes = results()
    seen = len({outcome.entry for outcome in outcomes})
    return report.below_floor(outcomes) if seen >= WHOLE_RUN else []


def census_ran(terminalreporter: pytest.TerminalReporter) -> bool:
    return any("test_census" in str(getattr(item, "nodeid", ""))
               for items in terminalreporter.stats.values() for item in items)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A run over the whole database fails below the floors."""
    if is_worker(session.config):
        return
    short = floors_missed() + compiled_report.below_floor(tallies())
    if short and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if census_ran(terminalreporter):
        terminalreporter.section("census of names")
        terminalreporter.write_line(census.summary())
    compiled = tallies()
    if compiled:
        terminalreporter.section("compiled oracle")
        terminalreporter.write_line(compiled_report.table(compiled))
        for line in compiled_report.below_floor(compiled):
            terminalreporter.write_line(f"BELOW THE FLOOR {line}", red=True)
    outcomes = results()
    if not outcomes:
        return
    terminalreporter.section("operator oracle")
    terminalreporter.write_line(report.table(outcomes))
    terminalreporter.write_line(report.miss_list(outcomes))
    for line in floors_missed():
        terminalreporter.write_line(f"BELOW THE FLOOR {line}", red=True)
