"""Enters: a request for diagnosis. Leaves: backward errors that name the forward line.

Invariant: while the mode is off, recording pays one attribute test for it.
"""

from __future__ import annotations

import traceback
import warnings
from typing import Any

from thunk.dispatch.state import state

_OWN = __file__.rsplit("autograd", 1)[0]


def user_stack() -> str:
    """The present call stack without the framework's own frames."""
    frames = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(_OWN)]
    return "".join(traceback.format_list(frames))


class set_detect_anomaly:
    """Switch anomaly detection; as a context manager, back again at the end of the block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = (state.anomaly, state.anomaly_checks_nan)
        state.anomaly = mode
        state.anomaly_checks_nan = check_nan

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        state.anomaly, state.anomaly_checks_nan = self._previous


class detect_anomaly:
    """Find the forward call behind a backward error, and raise where a gradient becomes nan."""

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._previous = (state.anomaly, state.anomaly_checks_nan)
        state.anomaly, state.anomaly_checks_nan = True, self._check_nan

    def __exit__(self, *error: object) -> None:
        state.anomaly, state.anomaly_checks_nan = self._previous


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this thread."""
    return state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection, where it is on, looks for nan."""
    return state.anomaly_checks_nan


def explain(error: Exception, node: Any) -> None:
    """Add the forward call behind `node` to a backward error."""
    if node.trace is not None:
        error.add_note(
            f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n"
            f"{node.trace}"
        )
