"""Lowerings over tables, runs and rows on sizes that are worth several threads and many vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from graphs import Recorder, agree
from thunk.backends.cpu.runner import threads

random = numpy.random.default_rng(31)


@pytest.fixture(autouse=True, params=[1, 2])
def number_of_threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = threads().count
    threads().set(request.param)
    yield
    threads().set(before)


def values(*shape: int) -> numpy.ndarray:
    return numpy.asarray(random.normal(size=shape)).astype("f4")


def lowered(recorder: Recorder, *outputs: Any, tolerance: float = 1e-4) -> None:
    recorder.outputs(*outputs)
    assert not agree(recorder, tolerance).schedule.fallbacks


def test_pictures() -> None:
    recorder = Recorder()
    picture = recorder.input(values(4, 6, 45, 53))
    wide = recorder.call("upsample_bilinear2d", picture, (90, 77), False, None, None)
    lowered(
        recorder,
        wide,
        recorder.call("upsample_nearest2d", picture, (91, 30), None, None),
        recorder.call("upsample_bilinear2d_backward", wide, (90, 77), (4, 6, 45, 53), False,
                      None, None),
        recorder.call("reflection_pad2d", picture, (5, 4, 3, 2)),
        recorder.call("adaptive_avg_pool2d", picture, (7, 9)),
        recorder.call("avg_pool2d", picture, (3, 3), (2, 2), (1, 1), True, True, None),
        *recorder.call("adaptive_max_pool2d", picture, (7, 9)),
        recorder.call("im2col", picture, (3, 3), (1, 1), (1, 1), (2, 2)),
    )  # fmt: skip


def test_runs() -> None:
    recorder = Recorder()
    table = recorder.input(values(300, 217))
    lowered(
        recorder,
        recorder.call("cumsum", table, 0, None),
        recorder.call("cumsum", table, 1, None),
        *recorder.call("cummax", table, 0),
        recorder.call("_linear_recurrence", recorder.call("sigmoid", table), table, 1, True),
    )


def test_rows() -> None:
    recorder = Recorder()
    table = recorder.input(values(500, 130))
    lowered(
        recorder,
        *recorder.call("sort.stable", table, True, 1, True),
        *recorder.call("topk", table, 9, 1, True, True),
        *recorder.call("median.dim", table, 1, False),
        *recorder.call("topk", recorder.input(values(90, 400)), 9, 0, False, True),
    )


def test_places() -> None:
    recorder = Recorder()
    table, source = recorder.input(values(400, 70)), recorder.input(values(900, 70))
    index = recorder.input(random.integers(0, 400, (900, 70)))
    row = recorder.input(random.integers(0, 400, 900))
    across = recorder.input(random.integers(0, 70, (400, 300)))
    mask = recorder.input(random.random((400, 70)) < 0.4)
    lowered(
        recorder,
        recorder.call("scatter_add", table, 0, index, source),
        recorder.call("scatter_reduce.two", table, 0, index, source, "mean", True),
        recorder.call("scatter_add", table, 1, across, recorder.input(values(400, 300))),
        recorder.call("index_reduce", table, 0, row, source, "amax", False),
        recorder.call("_index_put", table, (row,), source, True),
        recorder.call("masked_scatter", table, mask, recorder.input(values(28000))),
        recorder.call("_cdist_forward", table, source, 2.0, None),
    )


def test_whole_numbers() -> None:
    recorder = Recorder()
    pair = [recorder.input(random.integers(-9, 9, (120, 120))) for _ in range(2)]
    lowered(recorder, recorder.call("mm", *pair), recorder.call("polygamma", 1, recorder.input(
        random.uniform(0.1, 30, 60000))))
