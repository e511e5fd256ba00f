"""Enters: ranges that a program names, and its steps. Leaves: their times, as table or trace.

Invariant: times are of Python's side; operators are recorded lazily and run together at a cut, so
none has a time of its own.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any


class ProfilerActivity(Enum):
    """What to look at."""

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What to do in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be looked at."""
    return {ProfilerActivity.CPU}


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """A function from a step's number to what is done in it: wait, warm up, record, again."""
    length = wait + warmup + active

    def chosen(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        place = step - skip_first
        if skip_first_wait and place < length:
            place += wait
        if repeat > 0 and place // length >= repeat:
            return ProfilerAction.NONE
        within = place % length
        if within < wait:
            return ProfilerAction.NONE
        if within < wait + warmup:
            return ProfilerAction.WARMUP
        last = within == length - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return chosen


class Range:
    """One named stretch of time."""

    __slots__ = ("end", "name", "start")

    def __init__(self, name: str, start: float) -> None:
        self.name = name
        self.start = start
        self.end = start


class Summary:
    """All ranges of one name."""

    def __init__(self, name: str, ranges: list[Range]) -> None:
        self.key = name
        self.count = len(ranges)
        self.cpu_time_total = sum(each.end - each.start for each in ranges) * 1e6
        self.self_cpu_time_total = self.cpu_time_total
        self.cuda_time_total = self.device_time_total = 0.0

    @property
    def cpu_time(self) -> float:
        """Microseconds of one, on average."""
        return self.cpu_time_total / max(self.count, 1)


class EventList(list[Summary]):
    """Summaries that can be printed."""

    def table(self, sort_by: str | None = None, row_limit: int = 100, **_: Any) -> str:
        """Name, count and times, as text."""
        rows = sorted(self, key=lambda each: -each.cpu_time_total)[:row_limit]
        width = max([len(each.key) for each in rows] + [4])
        lines = [f"{'Name'.ljust(width)}  {'Calls':>8}  {'CPU total':>14}  {'CPU average':>14}"]
        lines += [
            f"{each.key.ljust(width)}  {each.count:>8}  {each.cpu_time_total:>12.1f}us  "
            f"{each.cpu_time:>12.1f}us"
            for each in rows
        ]
        return "\n".join(lines)

    def total_average(self) -> Summary:
        """Everything as one."""
        made = Summary("Total", [])
        made.count = sum(each.count for each in self)
        made.cpu_time_total = sum(each.cpu_time_total for each in self)
        return made


_running: list[profile] = []


class record_function:
    """Name what happens inside a `with` block or a decorated function."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name

    def __enter__(self) -> record_function:
        self._range = Range(self.name, time.perf_counter())
        return self

    def __exit__(self, *error: object) -> None:
        self._range.end = time.perf_counter()
        for each in _running:
            each._note(self._range)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def named(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return named


class profile:
    """Measures named ranges and steps inside a `with` block; takes PyTorch's arguments."""

    def __init__(
        self,
        activities: Iterable[ProfilerActivity] | None = None,
        *,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        **_: Any,
    ) -> None:
        self.activities = set(activities or supported_activities())
        self.on_trace_ready = on_trace_ready
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.step_num = 0
        self._ranges: list[Range] = []
        self._metadata: dict[str, str] = {}

    def start(self) -> None:
        """Begin to measure."""
        _running.append(self)
        self.current_action = self.schedule(self.step_num)
        self._step = Range(f"ProfilerStep#{self.step_num}", time.perf_counter())

    def stop(self) -> None:
        """Measure no more."""
        self._end_step()
        _running.remove(self)
        if self.on_trace_ready is not None and self.current_action is ProfilerAction.RECORD:
            self.on_trace_ready(self)

    def _end_step(self) -> None:
        self._step.end = time.perf_counter()
        self._note(self._step)

    def step(self) -> None:
        """One step ended, another begins."""
        self._end_step()
        if self.current_action is ProfilerAction.RECORD_AND_SAVE and self.on_trace_ready:
            self.on_trace_ready(self)
            self._ranges = []
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._step = Range(f"ProfilerStep#{self.step_num}", time.perf_counter())

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _note(self, found: Range) -> None:
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._ranges.append(found)

    def events(self) -> list[Range]:
        """Every range."""
        return list(self._ranges)

    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:
        """Ranges by name."""
        by_name: dict[str, list[Range]] = {}
        for each in self._ranges:
            by_name.setdefault(each.name.partition("#")[0], []).append(each)
        return EventList(Summary(name, found) for name, found in by_name.items())

    def add_metadata(self, key: str, value: str) -> None:
        """Say something about the run in its trace."""
        self._metadata[key] = value

    def export_chrome_trace(self, path: str) -> None:
        """Write the ranges in the format of trace viewers."""
        events = [
            {"name": each.name, "ph": "X", "pid": 0, "tid": 0, "ts": each.start * 1e6,
             "dur": (each.end - each.start) * 1e6}
            for each in self._ranges
        ]  # fmt: skip
        Path(path).write_text(json.dumps({"traceEvents": events, **self._metadata}))


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """A handler that writes each trace into a folder."""

    def write(measured: profile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{worker_name or 'worker'}.{time.time_ns()}.pt.trace.json"
        measured.export_chrome_trace(str(folder / name))

    return write
