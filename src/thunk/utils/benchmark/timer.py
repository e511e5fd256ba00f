"""Enters: code as text. Leaves: how long one run of it takes.

Invariant: a run ends when what it recorded has been computed, so lazy work is counted.
"""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from typing import Any

from thunk.tensor.settings import get_num_threads, set_num_threads


class Measurement:
    """The times of several runs of the same code."""

    def __init__(self, number_per_run: int, raw_times: list[float], description: str) -> None:
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.description = description

    @property
    def times(self) -> list[float]:
        """Seconds of one run, by sample."""
        return [each / self.number_per_run for each in self.raw_times]

    @property
    def median(self) -> float:
        """The middle sample."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The average sample."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """Between the first quarter of the samples and the last."""
        if len(self.times) < 2:
            return 0.0
        first, _, last = statistics.quantiles(self.times, n=4)
        return last - first

    def __repr__(self) -> str:
        unit, scale = next(
            (pair for pair in (("s", 1.0), ("ms", 1e3), ("us", 1e6)) if self.median * pair[1] >= 1),
            ("ns", 1e9),
        )
        return (
            f"<thunk.utils.benchmark.Measurement>\n{self.description}\n"
            f"  {self.median * scale:.2f} {unit}\n"
            f"  {len(self.raw_times)} measurements, {self.number_per_run} runs each"
        )


class Timer:
    """Times a statement, after a set-up that is not counted."""

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timeit.default_timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
    ) -> None:
        names = dict(globals or {})
        exec(global_setup, names)
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._threads = num_threads
        self._description = ": ".join(
            each for each in (label, sub_label, description) if each
        ) or stmt  # fmt: skip

    def _samples(self, number: int, count: int) -> list[float]:
        before = get_num_threads()
        set_num_threads(self._threads)
        try:
            return [self._timer.timeit(number) for _ in range(count)]
        finally:
            set_num_threads(before)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Run the statement that many times, after a few to warm up."""
        self._samples(max(number // 100, 2), 1)
        return Measurement(number, self._samples(number, 1), self._description)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Run the statement in blocks, for at least that many seconds."""
        number = 1
        while (took := self._samples(number, 1)[0]) < min_run_time / 100:
            number *= 10
        count = max(int(min_run_time / max(took, 1e-9)), 1)
        return Measurement(number, self._samples(number, count), self._description)

    adaptive_autorange = blocked_autorange
