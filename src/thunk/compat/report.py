"""Enters: the moment a program began. Leaves: at its end, how long it took and what Thunk did.

Invariant: only what the counters of `thunk.lazy.metrics` say is printed; nothing is estimated.
"""

from __future__ import annotations

import atexit
import resource
import sys
import time

from thunk.lazy import metrics


def report_at_exit() -> None:
    """Print the report on stderr when the process ends."""
    atexit.register(_print, time.perf_counter())


def _print(began: float) -> None:
    print(report(time.perf_counter() - began), file=sys.stderr, flush=True)


def report(seconds: float) -> str:
    """What happened in that many seconds, as text."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = [f"thunk: {seconds:.2f} s, peak memory {peak:.0f} MiB"]
    names = metrics.counter_names()
    width = max(map(len, names), default=0)
    lines += [f"  {name.ljust(width)}  {metrics.counter_value(name):,}" for name in names]
    if not names:
        lines.append("  no operation was recorded lazily")
    return "\n".join(lines)
