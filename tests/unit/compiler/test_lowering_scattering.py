"""Writes at computed places that reduce, and small operators, against their reference rules."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from graphs import Recorder, agree, compiled

random = numpy.random.default_rng(23)
REDUCTIONS = ["sum", "prod", "mean", "amax", "amin"]


def values(dtype: Any, *shape: int) -> numpy.ndarray:
    return numpy.asarray(random.normal(size=shape) * 2).astype(dtype)


def name_of(dtype: Any) -> str:
    return numpy.dtype(dtype).name


def lowered(recorder: Recorder, *outputs: Any, tolerance: float = 1e-5) -> None:
    recorder.outputs(*outputs)
    assert not agree(recorder, tolerance).schedule.fallbacks


@pytest.mark.parametrize("dtype", ["f4", "f8"], ids=name_of)
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("include_self", [False, True])
def test_reductions_at_places(dtype: Any, reduce: str, include_self: bool) -> None:
    recorder = Recorder()
    own, source = recorder.input(values(dtype, 5, 6)), recorder.input(values(dtype, 4, 6))
    index = recorder.input(random.integers(0, 5, (4, 6)))
    row = recorder.input(random.integers(0, 5, 4))
    outputs = [recorder.call("scatter_reduce.two", own, 0, index, source, reduce, include_self)]
    if reduce != "sum":
        outputs.append(recorder.call("index_reduce", own, 0, row, source, reduce, include_self))
    lowered(recorder, *outputs)


@pytest.mark.parametrize("accumulate", [False, True])
def test_elements_put(accumulate: bool) -> None:
    recorder = Recorder()
    own = recorder.input(values("f4", 5, 6, 7))
    places = random.permutation(210)[:12].reshape(3, 4) - 105
    flat = recorder.call(
        "put", own, recorder.input(places), recorder.input(values("f4", 3, 4)), accumulate
    )
    first = recorder.input(numpy.array([[4], [-1], [0]]))
    second = recorder.input(numpy.array([1, -2]))
    adjacent = recorder.call(
        "_index_put", own, (None, first, second), recorder.input(values("f4", 5, 3, 2)), accumulate
    )
    apart = recorder.call(
        "_index_put", own, (second, None, second), recorder.input(values("f4", 6)), accumulate
    )
    lowered(recorder, flat, adjacent, apart, recorder.call("_index", own, (second, None, second)))


def test_bad_places_raise() -> None:
    recorder = Recorder()
    own, index = recorder.input(values("f4", 5)), recorder.input(numpy.array([1, 5]))
    source = recorder.input(values("f4", 2))
    recorder.outputs(recorder.call("_index_put", own, (index,), source, False))
    with pytest.raises(IndexError, match="dimension 0 with size 5"):
        compiled(recorder)


@pytest.mark.parametrize("dtype", ["f4", "f8"], ids=name_of)
def test_products_of_vectors(dtype: Any) -> None:
    recorder = Recorder()
    left, right = recorder.input(values(dtype, 4, 3)), recorder.input(values(dtype, 1, 3))
    batches = [recorder.input(values(dtype, 5, 4, 6)), recorder.input(values(dtype, 5, 6, 3))]
    column, row = recorder.input(values(dtype, 4)), recorder.input(values(dtype, 3))
    lowered(
        recorder,
        recorder.call("linalg_cross", left, right, -1),
        recorder.call("addbmm", left, *batches, recorder.number(0.5), 2),
        recorder.call("addr", left, column, row, 1, recorder.number(3.0)),
        recorder.call("glu", recorder.input(values(dtype, 3, 8, 2)), 1),
        tolerance=1e-4,
    )


@pytest.mark.parametrize("dtype", ["f4", "f8"], ids=name_of)
@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_derivatives_of_digamma(dtype: Any, order: int) -> None:
    points = numpy.concatenate([random.uniform(-9.4, 12, 300), [0.0, -2.0, 0.5, 1e-3, 40, 1e4]])
    recorder = Recorder()
    lowered(
        recorder, recorder.call("polygamma", order, recorder.input(points.astype(dtype))),
        tolerance=2e-4 if dtype == "f4" else 1e-9,
    )  # fmt: skip


@pytest.mark.parametrize("equal_nan", [False, True])
def test_closeness(equal_nan: bool) -> None:
    left = numpy.array([1, 1, numpy.inf, numpy.nan, -numpy.inf, 0, 5], "f4")
    right = numpy.array([1.0001, 1.1, numpy.inf, numpy.nan, numpy.inf, 1e-9, 5], "f4")
    recorder = Recorder()
    pair = recorder.input(left), recorder.input(right)
    lowered(
        recorder,
        recorder.call("isclose", *pair, 1e-3, 1e-8, equal_nan),
        recorder.call("isclose", *pair, 0.0, 0.0, equal_nan),
    )


def test_places_in_strided_operands() -> None:
    recorder = Recorder()
    wide = recorder.input(values("f4", 10, 12))
    own = recorder.call("slice.Tensor", wide, 1, 1, None, 2)
    index = recorder.input(random.integers(0, 10, (4, 6)))
    source = recorder.call("slice.Tensor", recorder.input(values("f4", 4, 12)), 1, 0, None, 2)
    row = recorder.input(random.permutation(10)[:4])
    lowered(
        recorder,
        recorder.call("scatter.src", own, 1, recorder.input(random.integers(0, 6, (4, 1))),
                      recorder.call("slice.Tensor", source, 1, 0, 1, 1)),
        recorder.call("scatter_add", own, 0, index, source),
        recorder.call("scatter.value", own, 0, index, 3.0),
        recorder.call("index_add", own, 0, row, source, 2),
        recorder.call("index_copy", own, 0, row, source),
        recorder.call("index_fill.int_Scalar", own, 0, row, 7.0),
        recorder.call("scatter_reduce.two", own, 0, index, source, "amax", True),
        recorder.call("_index_put", own, (row,), source, True),
        recorder.call("gather", own, 0, index),
        recorder.call("index_select", own, 1, recorder.input(numpy.array([5, 0]))),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"], ids=name_of)
def test_traces_and_rounding(dtype: Any) -> None:
    recorder = Recorder()
    matrix = recorder.input(values(dtype, 5, 7))
    outputs = [recorder.call("trace", matrix), recorder.call("trace", recorder.call("t", matrix))]
    if dtype != "i4":
        outputs += [recorder.call("round.decimals", matrix, places) for places in (-1, 0, 2)]
    lowered(recorder, *outputs)
