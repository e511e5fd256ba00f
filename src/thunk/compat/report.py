"""Enters: the moment a program began. Leaves: at its end, how long it took and what Thunk did.

Invariant: only what clocks and the counters of `thunk.lazy.metrics` say is printed; nothing is
estimated.
"""

from __future__ import annotations

import atexit
import resource
import sys
import time
from typing import NamedTuple

from thunk.backends.cpu.flight import seconds_run
from thunk.lazy import metrics
from thunk.lazy.watch import fallback_ops


class Clocks(NamedTuple):
    """How much time has passed so far: outside, in this thread, in the one that runs programs."""

    wall: float
    python: float
    running: float


def clocks() -> Clocks:
    """What they show now."""
    return Clocks(time.perf_counter(), time.thread_time(), seconds_run())


def report_at_exit() -> None:
    """Print the report on stderr when the process ends."""
    atexit.register(_print, clocks())


def _print(began: Clocks) -> None:
    print(report(began), file=sys.stderr, flush=True)


def report(began: Clocks) -> str:
    """What happened since then, as text."""
    wall, python, running = (now - then for now, then in zip(clocks(), began, strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = [f"thunk: {wall:.2f} s, peak memory {peak:.0f} MiB"]
    counters = metrics.counter_values()
    if not counters:
        return "\n".join([*lines, "  no operation was recorded lazily"])
    runs, compiled = counters.get("Executions", 0), counters.get("UncachedCompile", 0)
    compiling = metrics.metric_data("CompileProcessorTime")
    seconds = 0.0 if compiling is None else compiling.total
    lines += [
        f"  {runs:,} runs of programs, {runs / max(wall, 1e-9):,.1f} a second",
        f"  {compiled:,} compiled, {counters.get('CachedCompile', 0):,} found again",
        f"  fallbacks: {_fallbacks(counters)}",
        f"  of the processor's time: tracing, and Python beside it {python - seconds:.3f} s, "
        f"compiling {seconds:.3f} s, running {running:.3f} s",
    ]
    width = max(map(len, counters))
    lines += [f"  {name.ljust(width)}  {counters[name]:,}" for name in sorted(counters)]
    return "\n".join(lines)


def _fallbacks(counters: dict[str, int]) -> str:
    names = fallback_ops()
    return ", ".join(f"{name} {counters.get(name, 0):,}" for name in names) or "none"
