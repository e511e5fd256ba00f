"""Running values and sorted rows against their reference rules."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest

from graphs import Recorder, agree, compiled

BFLOAT16 = ml_dtypes.bfloat16
FLOATS = ["f4", "f8", BFLOAT16]
random = numpy.random.default_rng(17)
SHAPES = [((7,), 0), ((5, 40), 1), ((5, 40), 0), ((2, 3, 4), -2), ((), 0), ((1, 3), 0)]


def values(dtype: Any, *shape: int) -> numpy.ndarray:
    """Small numbers with ties, and NaN where there is one."""
    found = numpy.asarray(random.integers(-4, 5, shape) / 2).astype(dtype)
    return found


def with_nan(dtype: Any, *shape: int) -> numpy.ndarray:
    found = values(dtype, *shape)
    if found.dtype.kind in "fV":
        found[random.random(shape) < 0.2] = numpy.nan
    return found


def name_of(dtype: Any) -> str:
    return numpy.dtype(dtype).name


def run(name: str, array: numpy.ndarray, *args: Any, tolerance: float = 1e-5) -> Any:
    recorder = Recorder()
    found = recorder.call(name, recorder.input(array), *args)
    recorder.outputs(*(found if isinstance(found, tuple) else (found,)))
    program = agree(recorder, tolerance)
    assert not program.schedule.fallbacks
    return program


@pytest.mark.parametrize("dtype", [*FLOATS, "i4"], ids=name_of)
@pytest.mark.parametrize("shape, dim", SHAPES, ids=str)
def test_running_values(dtype: Any, shape: tuple[int, ...], dim: int) -> None:
    recorder = Recorder()
    value = recorder.input(values(dtype, *shape))
    extreme = recorder.input(with_nan(dtype, *shape))
    outputs = [recorder.call(name, value, dim, None) for name in ("cumsum", "cumprod")]
    outputs += recorder.call("cummax", extreme, dim) + recorder.call("cummin", extreme, dim)
    recorder.outputs(*outputs)
    assert not agree(recorder).schedule.fallbacks


def test_running_values_of_equal_elements() -> None:
    recorder = Recorder()
    ones = recorder.call("ones", (3, 5))
    recorder.outputs(recorder.call("cumsum", ones, 1, None), recorder.call("cumsum", ones, 0, None))
    assert not agree(recorder).schedule.fallbacks


@pytest.mark.parametrize("reverse", [False, True])
def test_recurrences(reverse: bool) -> None:
    recorder = Recorder()
    decay, value = (recorder.input(random.normal(size=(4, 30))) for _ in range(2))
    recorder.outputs(recorder.call("_linear_recurrence", decay, value, 1, reverse))
    assert not agree(recorder, 1e-9).schedule.fallbacks
    run("logcumsumexp", random.normal(size=(4, 30)).astype("f4"), 1)


def test_long_sums_of_single_precision_are_kept_in_double() -> None:
    array = random.random((1, 1 << 16)).astype("f4")
    recorder = Recorder()
    recorder.outputs(recorder.call("cumsum", recorder.input(array), 1, None))
    (found,), _ = compiled(recorder)
    exact = numpy.cumsum(array.astype("f8"), 1)
    assert numpy.abs(found / exact - 1).max() < 1.2e-7


@pytest.mark.parametrize("dtype", [*FLOATS, "i8", "u1", "?"], ids=name_of)
@pytest.mark.parametrize("shape, dim", SHAPES, ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_sorted_rows(dtype: Any, shape: tuple[int, ...], dim: int, descending: bool) -> None:
    array = with_nan("f4", *shape) if numpy.dtype(dtype).kind in "fV" else values("f4", *shape)
    array = abs(array).astype(dtype) if numpy.dtype(dtype).kind == "u" else array.astype(dtype)
    run("sort.stable", array, True, dim, descending)
    if shape and numpy.dtype(dtype).kind != "b":
        run("topk", array, 1 + shape[dim] // 2, dim, descending, True)
        run("kthvalue", array, 1 + shape[dim] // 3, dim, False)
    if numpy.dtype(dtype).kind != "b":
        run("median.dim", array, dim, True)
        run("nanmedian.dim", array, dim, False)


@pytest.mark.parametrize("right", [False, True])
def test_places_in_sorted_sequences(right: bool) -> None:
    for lead in ((), (3,)):
        sequence = numpy.sort(values("f4", *lead, 12))
        recorder = Recorder()
        recorder.outputs(
            recorder.call(
                "searchsorted.Tensor", recorder.input(sequence), recorder.input(values("f4", 3, 9)),
                False, right, None, None,
            )
        )  # fmt: skip
        assert not agree(recorder).schedule.fallbacks


@pytest.mark.parametrize("shape", [(6, 7), (7,), (1, 7)], ids=str)
def test_elements_chosen_by_a_mask(shape: tuple[int, ...]) -> None:
    recorder = Recorder()
    mask = recorder.input(random.random(shape) < 0.5)
    value = recorder.input(values("f4", 6, 7))
    recorder.outputs(
        recorder.call("masked_scatter", value, mask, recorder.input(values("f4", 50)))
    )
    assert not agree(recorder).schedule.fallbacks


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"], ids=name_of)
@pytest.mark.parametrize("shape, dim", [((7,), 0), ((5, 40), 1), ((5, 40), 0)], ids=str)
def test_most_frequent_elements(dtype: Any, shape: tuple[int, ...], dim: int) -> None:
    run("mode", with_nan(dtype, *shape) if dtype != "i8" else values(dtype, *shape), dim, True)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, numpy.inf])
def test_distances_of_sets(p: float) -> None:
    recorder = Recorder()
    left = recorder.input(random.normal(size=(2, 5, 4)).astype("f4"))
    right = recorder.input(random.normal(size=(1, 7, 4)).astype("f4"))
    distances = recorder.call("_cdist_forward", left, right, p, None)
    grad = recorder.input(random.normal(size=(2, 5, 7)).astype("f4"))
    recorder.outputs(
        distances, recorder.call("_cdist_backward", grad, left, right, p, distances)
    )
    assert not agree(recorder, 1e-4).schedule.fallbacks


@pytest.mark.parametrize("dtype", [*FLOATS, "i4", "u1", "?"], ids=name_of)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("shape, dim", [((300,), 0), ((3, 1025), 1), ((700, 2), 0)], ids=str)
def test_long_rows_are_merged(
    dtype: Any, shape: tuple[int, ...], dim: int, descending: bool
) -> None:
    array = with_nan(dtype, *shape)
    run("sort.stable", array, True, dim, descending)
    run("sort.stable", numpy.swapaxes(numpy.swapaxes(array, 0, -1).copy(), 0, -1), None, dim, True)
    if dtype == "?":
        return  # the others refuse it
    run("mode", array, dim, descending)
    run("topk", array, 7, dim, descending, True)
    for name in ("kthvalue", "median.dim", "nanmedian.dim"):
        run(name, array, *([5] if name == "kthvalue" else []), dim, descending)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("size", [257, 1000, 1024])
def test_long_sequences_are_searched_by_halves(dtype: Any, size: int) -> None:
    sequence = numpy.sort(random.integers(-400, 400, (2, size)), 1).astype(dtype)
    wanted = random.integers(-420, 420, (2, 50)).astype(dtype)
    for right in (False, True):
        recorder = Recorder()
        one = recorder.input(sequence)
        recorder.outputs(
            recorder.call("searchsorted.Tensor", one, recorder.input(wanted), False, right, None,
                          None),
            recorder.call("searchsorted.Tensor", recorder.input(sequence[0].copy()),
                          recorder.input(wanted), True, right, None, None),
        )  # fmt: skip
        assert not agree(recorder).schedule.fallbacks
