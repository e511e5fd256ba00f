"""Scenarios: short programs that take a library (torch or thunk) and yield what they observed.

In: such a program and a library. Out: a report of plain values that can be compared.
Invariant: an exception ends a report, and is observed by the kind a user would catch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Scenario = Callable[[Any], Iterator[Any]]
KINDS = (NotImplementedError, RuntimeError, ValueError, TypeError, IndexError, AttributeError)


def leaf(lib: Any, *values: float) -> Any:
    """A vector of doubles that wants a gradient."""
    return lib.tensor(list(values), dtype=lib.float64, requires_grad=True)


def shown(value: Any) -> Any:
    """A comparable picture of what a scenario yielded."""
    if hasattr(value, "detach"):
        return [f"{float(each):.8g}" for each in value.detach().numpy().reshape(-1)]
    if isinstance(value, (tuple, list)):
        return [shown(each) for each in value]
    return value


def caught(function: Callable[[], Any]) -> str:
    """The kind of exception that a call raises, as a scenario's observation."""
    try:
        function()
    except KINDS as error:
        return _kind(error)
    return "returns"


def observed(function: Scenario, lib: Any) -> list[Any]:
    """Everything the scenario yields with one library."""
    report = []
    try:
        for value in function(lib):
            report.append(shown(value))
    except KINDS as error:
        report.append(_kind(error))
    return report


def _kind(error: Exception) -> str:
    return f"raises {next(kind.__name__ for kind in KINDS if isinstance(error, kind))}"
