"""Enters: switches of the whole process. Leaves: their present values.

Invariant: a switch is stored as PyTorch stores it; whoever computes reads it from here or below.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from typing import Any

from thunk.base.config import config


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class _Settings:
    interop_threads: int = field(default_factory=_cores)
    deterministic: str = "default"  # "default", "warn" or "error"
    matmul_precision: str = "highest"
    warns_always: bool = False


_settings = _Settings()
_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")


def _checked_count(op: str, count: Any) -> int:
    if isinstance(count, bool) or not isinstance(count, int):
        raise RuntimeError(f"{op}: expected an int, got {type(count).__name__}")
    if count <= 0:
        raise RuntimeError(f"{op}: expected positive number of threads, got {count}")
    return count


def get_num_threads() -> int:
    """How many threads one operator may use."""
    return config.threads or _cores()


def set_num_threads(count: int) -> None:
    """Change how many threads one operator may use; compiled programs are made anew for them."""
    config.threads = _checked_count("set_num_threads", count)


def get_num_interop_threads() -> int:
    """How many operators may run at once."""
    return _settings.interop_threads


def set_num_interop_threads(count: int) -> None:
    """Change how many operators may run at once."""
    _settings.interop_threads = _checked_count("set_num_interop_threads", count)


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that repeat bit for bit; the reference backend's always do."""
    if not isinstance(mode, bool):
        raise TypeError(
            f"use_deterministic_algorithms(): argument 'mode' must be bool, "
            f"not {type(mode).__name__}"
        )
    if mode:
        _settings.deterministic = "warn" if warn_only else "error"
    else:
        _settings.deterministic = "default"


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic results were asked for."""
    return _settings.deterministic != "default"


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether an operator that is not deterministic only warns."""
    return _settings.deterministic == "warn"


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """What happens on an operator that is not deterministic: default, warn or error."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(
            f"set_deterministic_debug_mode: expected str or int, got {type(debug_mode).__name__}"
        )
    known = debug_mode in _MODES if isinstance(debug_mode, str) else 0 <= debug_mode <= 2
    if not known:
        raise RuntimeError(
            f"set_deterministic_debug_mode: expected one of {', '.join(_MODES)} or 0, 1, 2, "
            f"got {debug_mode!r}"
        )
    _settings.deterministic = debug_mode if isinstance(debug_mode, str) else _MODES[debug_mode]


def get_deterministic_debug_mode() -> int:
    """0 for default, 1 for warn, 2 for error."""
    return _MODES.index(_settings.deterministic)


def set_float32_matmul_precision(precision: str) -> None:
    """How exact products of float32 matrices must be; here they are always exact."""
    if precision not in _PRECISIONS:
        warnings.warn(
            f"set_float32_matmul_precision: expected one of {', '.join(_PRECISIONS)}, "
            f"got {precision!r}; nothing changes",
            UserWarning,
            stacklevel=2,
        )
        return
    _settings.matmul_precision = precision


def get_float32_matmul_precision() -> str:
    """How exact products of float32 matrices must be."""
    return _settings.matmul_precision


def set_flush_denormal(mode: bool) -> bool:
    """Whether denormal numbers could be made zero: NumPy keeps them, so the answer is no."""
    return False


def set_warn_always(b: bool, /) -> None:
    """Whether a warning is repeated each time."""
    _settings.warns_always = bool(b)


def is_warn_always_enabled() -> bool:
    """Whether a warning is repeated each time."""
    return _settings.warns_always
