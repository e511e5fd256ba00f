"""Counters, sources read on demand, and distributions with percentiles."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from thunk.base.config import config
from thunk.lazy import metrics


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    sources = list(metrics._sources)
    metrics.reset()
    yield
    metrics._sources[:] = sources
    metrics.reset()


def test_importing_counts_nothing() -> None:
    script = "import thunk, thunk.lazy.metrics as m; print(m.counter_names(), m.metric_names())"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (found.stdout.strip(), found.stderr) == ("[] []", "")


def test_counters_add_up_and_are_forgotten() -> None:
    metrics.count("MarkStep")
    metrics.count("MarkStep", 2)
    metrics.count("aten::sub")
    assert metrics.counter_names() == ["MarkStep", "aten::sub"]
    assert metrics.counter_value("MarkStep") == 3
    assert metrics.counter_value("never") == 0
    assert metrics.counter_names() == ["MarkStep", "aten::sub"]  # asking makes no counter
    metrics.reset()
    assert metrics.counter_names() == [] and metrics.counter_value("MarkStep") == 0


def test_a_source_is_asked_only_when_counters_are_read() -> None:
    asked: list[int] = []
    counts = Counter({"IrNodeReused_add": 5})

    def source() -> Counter[str]:
        asked.append(1)
        return counts

    metrics.add_source(source)
    metrics.count("IrNodeReused_add")
    assert asked == []
    assert metrics.counter_value("IrNodeReused_add") == 6
    assert metrics.counter_names() == ["IrNodeReused_add"]
    assert len(asked) == 2
    metrics.reset()  # sources count upwards for ever; the reset remembers where they stood
    assert metrics.counter_names() == []
    counts["IrNodeReused_add"] += 4
    assert metrics.counter_value("IrNodeReused_add") == 4


def test_several_sources_are_summed() -> None:
    metrics.add_source(lambda: {"Hit": 2, "Miss": 1})
    metrics.add_source(lambda: {"Hit": 3})
    assert metrics.counter_value("Hit") == 5 and metrics.counter_value("Miss") == 1


def test_samples_are_bounded_and_sums_are_not() -> None:
    with config.override(lazy_metrics_samples=4):
        for value in range(10):
            metrics.observe("TensorsGraphSize", value)
    data = metrics.metric_data("TensorsGraphSize")
    assert data is not None
    assert (data.number, data.total, data.samples) == (10, 45.0, [6.0, 7.0, 8.0, 9.0])
    assert metrics.metric_data("never") is None and metrics.metric_names() == ["TensorsGraphSize"]
    metrics.reset()
    assert metrics.metric_names() == []


@pytest.mark.parametrize(
    ("share", "wanted"), [(0.01, 1), (0.5, 50), (0.501, 51), (0.95, 95), (0.99, 99), (1.0, 100)]
)
def test_percentiles_are_samples(share: float, wanted: int) -> None:
    assert metrics.percentile([float(each) for each in range(100, 0, -1)], share) == wanted


def test_percentiles_of_one_sample() -> None:
    assert [metrics.percentile([7.0], share) for share in (0.01, 0.5, 0.99)] == [7.0] * 3


def test_a_block_is_timed_even_if_it_raises() -> None:
    with pytest.raises(KeyError), metrics.timed("DeviceLockWait"):
        raise KeyError
    data = metrics.metric_data("DeviceLockWait")
    assert data is not None and (data.unit, data.number) == ("s", 1)
    assert data.total > 0


def test_the_report_holds_metrics_and_counters() -> None:
    for value in (1e-3, 2e-3, 3e-3, 90e-3):
        metrics.observe("ExecuteTime", value, "s")
    metrics.observe("TransferToDeviceSize", 3 << 20, "B")
    metrics.count("UncachedCompile", 2)
    with config.override(lazy_metrics_percentiles="0.5:0.99"):
        report = metrics.metrics_report()
    assert re.search(
        r"Metric: ExecuteTime\n  TotalSamples: 4\n  Accumulator: 96\.000ms\n"
        r"  ValueRate: \S+ / second\n  Rate: \S+ / second\n"
        r"  Percentiles: 50%=2\.000ms; 99%=90\.000ms;\n",
        report,
    )
    assert "Metric: TransferToDeviceSize\n  TotalSamples: 1\n  Accumulator: 3.00MB\n" in report
    assert report.endswith("Counter: UncachedCompile\n  Value: 2\n")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.000ns"), (5e-7, "500.000ns"), (0.25, "250.000ms"), (12.5, "12.500s"),
     (75.0, "1m15s"), (3600.0, "1h0m0s"), (90061.0, "1d1h1m1s")],
)  # fmt: skip
def test_times_are_spelt_for_people(seconds: float, text: str) -> None:
    assert metrics._spelt(seconds, "s") == text


def test_percentiles_that_are_none_are_refused() -> None:
    with (
        config.override(lazy_metrics_percentiles="0.5:two"),
        pytest.raises(ValueError, match="expected shares between 0 and 1"),
    ):
        metrics.metrics_report()


def test_threads_count_together() -> None:
    def many() -> None:
        for _ in range(2000):
            metrics.count("MarkStep")

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metrics.counter_value("MarkStep") == 8000
