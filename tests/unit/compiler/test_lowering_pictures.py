"""Convolutions and pooling against reference rules, in plain layouts and in the library's own."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest

from graphs import Recorder, agree
from thunk.compiler.lowering import LibraryCall

BFLOAT16 = ml_dtypes.bfloat16
random = numpy.random.default_rng(7)


def values(dtype: Any, *shape: int) -> numpy.ndarray:
    return numpy.asarray(random.normal(size=shape) * 3).astype(dtype)


def name_of(dtype: Any) -> str:
    return numpy.dtype(dtype).name


def run(call: Any, tolerance: float = 1e-5) -> Any:
    recorder = Recorder()
    found = call(recorder)
    outputs = found if isinstance(found, (tuple, list)) else (found,)
    recorder.outputs(*[each for each in outputs if each.spec is not None])
    return agree(recorder, tolerance)


# samples, channels, results, size, kernel, stride, padding, dilation, groups, transposed
CONVOLUTIONS = [
    (2, 3, 5, (8, 8), (3, 3), 1, 1, 1, 1, False),
    (2, 16, 32, (12, 12), (3, 3), 2, 1, 1, 1, False),
    (4, 32, 16, (9, 7), (3, 3), 1, 2, 2, 1, False),
    (2, 8, 4, (10,), (3,), 2, 1, 1, 1, False),
    (1, 4, 4, (5, 5, 5), (2, 2, 2), 1, 0, 1, 1, False),
    (2, 16, 16, (6, 6), (4, 4), 2, 1, 1, 1, True),
    (2, 8, 8, (8, 8), (3, 3), 1, 1, 1, 4, False),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"], ids=name_of)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolution(dtype: Any, case: Any) -> None:
    samples, channels, results, size, kernel, stride, padding, dilation, groups, turned = case
    dims = len(kernel)
    places = ((stride,) * dims, (padding,) * dims, (dilation,) * dims)
    rest = (turned, (0,) * dims, groups)
    outer = (channels, results // groups) if turned else (results, channels // groups)

    def calls(r: Recorder) -> list[Any]:
        picture = r.input(values(dtype, samples, channels, *size))
        weight, bias = r.input(values(dtype, *outer, *kernel)), r.input(values(dtype, results))
        found = r.call("convolution", picture, weight, bias, *places, *rest)
        grad = r.input(values(dtype, *found.spec.shape))
        sizes, mask = (results,), (True, True, True)
        name = "convolution_backward"
        return [found, *r.call(name, grad, picture, weight, sizes, *places, *rest, mask)]

    assert not run(calls, 3e-3).schedule.fallbacks


POOLS = [
    ((2, 3, 8, 8), (2, 2), (), (0, 0), (1, 1), False),
    ((2, 3, 9, 9), (3, 3), (2, 2), (1, 1), (1, 1), False),
    ((2, 3, 9, 8), (2, 3), (2, 1), (0, 1), (1, 2), True),
    ((3, 8, 8), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((2, 3, 7, 7), (2, 2), (2, 2), (0, 0), (1, 1), False),
]


@pytest.mark.parametrize("dtype", ["f4", "f8", BFLOAT16], ids=name_of)
@pytest.mark.parametrize("case", POOLS, ids=str)
def test_pools(dtype: Any, case: Any) -> None:
    shape, kernel, stride, padding, dilation, cut = case

    def largest(r: Recorder) -> list[Any]:
        picture = r.input(values(dtype, *shape))
        geometry = (kernel, stride, padding, dilation, cut)
        found, places = r.call("max_pool2d_with_indices", picture, *geometry)
        grad = r.input(values(dtype, *found.spec.shape))
        name = "max_pool2d_with_indices_backward"
        return [found, places, r.call(name, grad, picture, *geometry, places)]

    def average(r: Recorder, inside: bool) -> list[Any]:
        picture = r.input(values(dtype, *shape))
        found = r.call("avg_pool2d", picture, kernel, stride, padding, cut, inside, None)
        grad = r.input(values(dtype, *found.spec.shape))
        rest = (kernel, stride or kernel, padding, cut, inside, None)
        return [found, r.call("avg_pool2d_backward", grad, picture, *rest)]

    run(largest, 1e-4)
    if dilation == (1, 1):
        run(lambda r: average(r, True), 1e-4)
        run(lambda r: average(r, False), 1e-4)


@pytest.mark.parametrize("size", [(1, 1), (4, 4), (3, 3)])
def test_adaptive_averages(size: tuple[int, int]) -> None:
    def calls(r: Recorder) -> list[Any]:
        picture, grad = r.input(values("f4", 2, 3, 8, 16)), r.input(values("f4", 2, 3, *size))
        return [
            r.call("adaptive_avg_pool2d", picture, size),
            r.call("_adaptive_avg_pool2d_backward", grad, picture),
        ]

    run(calls)


def test_a_network_stays_in_the_layout_of_its_convolutions() -> None:
    plain = (1, 1), (0, 0), (1, 1), False, (0, 0), 1

    def network(r: Recorder) -> list[Any]:
        picture, first = r.input(values("f4", 4, 1, 28, 28)), r.input(values("f4", 32, 1, 3, 3) / 3)
        bias = r.input(values("f4", 32))
        second = r.input(values("f4", 64, 32, 3, 3) / 10)
        one = r.call("relu", r.call("convolution", picture, first, bias, *plain))
        normed, mean, rstd, _, _ = r.call(
            "_native_batch_norm_legit_functional", one, bias, bias, None, None, True, 0.1, 1e-5
        )
        two = r.call("relu", r.call("convolution", normed, second, None, *plain))
        pooled, places = r.call("max_pool2d_with_indices", two, (2, 2))
        grad = r.call("sigmoid", pooled)
        geometry = ((2, 2), (2, 2), (0, 0), (1, 1), False, places)
        back = r.call("max_pool2d_with_indices_backward", grad, two, *geometry)
        back = r.call("threshold_backward", back, two, 0)
        mask = (True, True, True)
        back, to_second, to_bias = r.call(
            "convolution_backward", back, normed, second, (64,), *plain, mask
        )
        back, *rows = r.call(
            "native_batch_norm_backward", back, one, bias, None, None, mean, rstd, True, 1e-5, mask
        )
        back = r.call("threshold_backward", back, one, 0)
        mask = (False, True, True)
        _, to_first, last = r.call(
            "convolution_backward", back, picture, first, (32,), *plain, mask
        )
        return [pooled, to_second, to_bias, *rows, to_first, last]

    program = run(network, 5e-3)
    assert not program.schedule.fallbacks
    calls = [each.name for each in program.schedule.steps if isinstance(each, LibraryCall)]
    reorders = [each for each in calls if each.startswith("reorder")]
    large = [each for each in reorders if "x26x26" in each or "x24x24" in each]
    if any("|1/" in each for each in reorders):
        assert not large
