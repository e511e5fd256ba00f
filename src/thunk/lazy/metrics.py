"""Enters: events, samples, and functions that say what others counted. Leaves: counters by name,
distributions with percentiles, and a report of both as text.

Invariant: a counter exists once something was counted under its name since the last `reset`; what a
source counts costs nothing until somebody reads.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from time import perf_counter
from types import TracebackType
from typing import Final, NamedTuple

from thunk.base.config import config

Source = Callable[[], Mapping[str, int]]


class Series:
    """Samples of one quantity: their number and sum for ever, themselves while they are recent."""

    __slots__ = ("count", "samples", "total", "unit")

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.count = 0
        self.total = 0.0
        self.samples: deque[tuple[float, float]] = deque(maxlen=config.lazy_metrics_samples)

    def add(self, when: float, value: float) -> None:
        self.count += 1
        self.total += value
        self.samples.append((when, value))


class Distribution(NamedTuple):
    """What is known of one quantity; rates are per second of the recent samples."""

    unit: str
    number: int  # of all samples, not of the recent ones
    total: float
    samples: list[float]
    value_rate: float
    rate: float


_lock: Final = threading.RLock()  # a source or a finalizer may count while somebody reads
_counters: Final[Counter[str]] = Counter()
_series: Final[dict[str, Series]] = {}
_sources: Final[list[Source]] = []
_before: Final[Counter[str]] = Counter()  # what sources had counted at the last reset


def count(name: str, amount: int = 1) -> None:
    """Add to a counter."""
    with _lock:
        _counters[name] += amount


def add_source(source: Source) -> None:
    """Ask `source` for its counts whenever counters are read; it counts upwards for ever."""
    with _lock:
        _sources.append(source)


def observe(name: str, value: float, unit: str = "") -> None:
    """Add a sample; units are "s" for seconds, "B" for bytes, or none."""
    with _lock:
        series = _series.get(name)
        if series is None:
            series = _series[name] = Series(unit)
        series.add(perf_counter(), value)


class timed:
    """Observe how long a `with` block takes."""

    __slots__ = ("_name", "_started")

    def __init__(self, name: str) -> None:
        self._name = name
        self._started = 0.0

    def __enter__(self) -> None:
        self._started = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        observe(self._name, perf_counter() - self._started, "s")


def reset() -> None:
    """Forget all counts and samples."""
    with _lock:
        _before.clear()
        _before.update(_from_sources())
        _counters.clear()
        _series.clear()


def _from_sources() -> Counter[str]:
    found: Counter[str] = Counter()
    for source in _sources:
        found.update(source())
    return found


def _read() -> Counter[str]:
    """Every counter that counted something since the last reset."""
    with _lock:
        found = _from_sources()
        found.subtract(_before)
        found.update(_counters)
        return +found


def counter_names() -> list[str]:
    """Names of all counters that counted something."""
    return sorted(_read())


def counter_values() -> dict[str, int]:
    """The value of every counter that counted something, read at once."""
    return dict(_read())


def counter_value(name: str) -> int:
    """The value of one counter, 0 if nothing was counted."""
    return _read()[name]


def metric_names() -> list[str]:
    """Names of all quantities that were observed."""
    with _lock:
        return sorted(_series)


def metric_data(name: str) -> Distribution | None:
    """What is known of one quantity; None if it was never observed."""
    with _lock:
        series = _series.get(name)
        if series is None:
            return None
        recent = list(series.samples)
        unit, number, total = series.unit, series.count, series.total
    span = perf_counter() - recent[0][0] if recent else 0.0
    values = [value for _, value in recent]
    rates = (sum(values) / span, len(values) / span) if span > 0 else (0.0, 0.0)
    return Distribution(unit, number, total, values, *rates)


def percentile(samples: list[float], share: float) -> float:
    """The smallest sample that at least `share` of the samples do not exceed."""
    ordered = sorted(samples)
    position = -(-share * len(ordered) // 1) - 1
    return ordered[int(min(max(position, 0), len(ordered) - 1))]


def percentages() -> list[float]:
    """The percentiles that the report shows, as shares."""
    try:
        shares = [float(each) for each in config.lazy_metrics_percentiles.split(":")]
    except ValueError:
        shares = [-1.0]
    if not all(0 < each < 1 for each in shares):
        raise ValueError(
            "config.lazy_metrics_percentiles: expected shares between 0 and 1 with colons between "
            f"them, got {config.lazy_metrics_percentiles!r}"
        )
    return sorted(shares)


def metrics_report() -> str:
    """Every quantity and every counter, as text."""
    lines: list[str] = []
    shares = percentages()
    for name in metric_names():
        data = metric_data(name)
        if data is not None:
            lines += _described(name, data, shares)
    for name, value in sorted(_read().items()):
        lines += [f"Counter: {name}", f"  Value: {value}"]
    return "\n".join([*lines, ""])


def _described(name: str, data: Distribution, shares: list[float]) -> list[str]:
    unit = data.unit
    spelt = " ".join(
        f"{100 * share:g}%={_spelt(percentile(data.samples, share), unit)};" for share in shares
    )
    return [
        f"Metric: {name}",
        f"  TotalSamples: {data.number}",
        f"  Accumulator: {_spelt(data.total, unit)}",
        f"  ValueRate: {_spelt(data.value_rate, unit)} / second",
        f"  Rate: {data.rate:g} / second",
        f"  Percentiles: {spelt}",
    ]


_SECONDS: Final = ((86400.0, "d"), (3600.0, "h"), (60.0, "m"), (1.0, "s"))
_SMALL: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_BYTES: Final = ((1 << 40, "TB"), (1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"), (1, "B"))


def _spelt(value: float, unit: str) -> str:
    """A quantity in the unit in which it is easy to read."""
    if unit == "s":
        return _spelt_seconds(value)
    if unit == "B":
        for size, name in _BYTES:
            if abs(value) >= size:
                return f"{value / size:.2f}{name}"
        return f"{value:.2f}B"
    return f"{value:.2f}"


def _spelt_seconds(value: float) -> str:
    if value >= 60:
        text, rest = "", value
        for size, name in _SECONDS[:-1]:
            whole, rest = divmod(rest, size)
            if whole or text:
                text += f"{int(whole)}{name}"
        return f"{text}{rest:.0f}s"
    for size, name in _SMALL:
        if value >= size:
            return f"{value / size:.3f}{name}"
    return f"{value * 1e9:.3f}ns"
