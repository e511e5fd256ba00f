"""Enters: events. Leaves: counters by name, as `thunk.lazy.metrics` shows them.

Invariant: a counter exists once something was counted under its name.
"""

from __future__ import annotations

import threading
from collections import Counter

_counters: Counter[str] = Counter()
_lock = threading.Lock()


def count(name: str, amount: int = 1) -> None:
    """Add to a counter."""
    with _lock:
        _counters[name] += amount


def counter_names() -> list[str]:
    """Names of all counters that counted something."""
    return sorted(_counters)


def counter_value(name: str) -> int:
    """The value of one counter, 0 if nothing was counted."""
    return _counters.get(name, 0)


def reset() -> None:
    """Forget all counts."""
    with _lock:
        _counters.clear()
