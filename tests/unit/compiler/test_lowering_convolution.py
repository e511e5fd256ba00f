"""Lowerings of convolutions and their gradients against the reference rules."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest

from graphs import Recorder, agree

random = numpy.random.default_rng(9)


def normal(element: Any, *shape: int) -> numpy.ndarray:
    return numpy.asarray(random.normal(size=shape)).astype(element)


# input, weight, stride, padding, dilation, transposed, output padding, groups
CASES: dict[str, tuple[Any, ...]] = {
    "1d": ((2, 3, 12), (4, 3, 3), [2], [1], [1], False, [0], 1),
    "2d": ((2, 3, 9, 8), (8, 3, 3, 3), [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    "one number": ((2, 4, 9, 9), (6, 2, 3, 3), [2], [1], [2], False, [0], 2),
    "3d": ((1, 2, 4, 5, 6), (3, 2, 2, 2, 2), [1, 2, 1], [0, 1, 0], [1] * 3, False, [0] * 3, 1),
    "transposed": ((2, 4, 5, 5), (4, 3, 3, 3), [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
    "transposed groups": ((2, 4, 5, 5), (4, 3, 2, 2), [1, 1], [0, 0], [1, 1], True, [0, 0], 2),
    "transposed dilated": ((1, 2, 4), (2, 3, 3), [2], [3], [3], True, [2], 1),
}


def record(name: str, element: Any, bias: bool) -> tuple[Recorder, Any, Any, tuple[Any, ...], Any]:
    image, weight, *places = CASES[name]
    recorder = Recorder()
    one, filters = (recorder.input(normal(element, *shape)) for shape in (image, weight))
    transposed, groups = places[3], places[5]
    results = weight[1] * groups if transposed else weight[0]
    row = recorder.input(normal(element, results)) if bias else None
    return recorder, one, filters, tuple(places), row


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("element", ["f4", "f8", ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("bias", [False, True])
def test_forward(name: str, element: Any, bias: bool) -> None:
    recorder, image, weight, places, row = record(name, element, bias)
    recorder.outputs(recorder.call("convolution", image, weight, row, *places))
    assert not agree(recorder, 2e-5).schedule.fallbacks


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "wanted", [(True, True, True), (True, False, False), (False, True, False), (False, False, True)]
)
def test_gradients(name: str, wanted: tuple[bool, bool, bool]) -> None:
    recorder, image, weight, places, _ = record(name, "f4", False)
    result = recorder.call("convolution", image, weight, None, *places)
    grad = recorder.input(normal("f4", *result.spec.shape))
    sizes = [result.spec.shape[1]]
    found = recorder.call("convolution_backward", grad, image, weight, sizes, *places, wanted)
    recorder.outputs(*[each for each, flag in zip(found, wanted) if flag])
    assert not agree(recorder, 5e-5).schedule.fallbacks


def test_a_bias_between_other_numbers() -> None:
    recorder, image, weight, places, _ = record("2d", "f4", False)
    row = recorder.call("select.int", recorder.input(normal("f4", 8, 3)), 1, 1)
    recorder.outputs(recorder.call("convolution", image, weight, row, *places))
    assert not agree(recorder, 2e-5).schedule.fallbacks


def test_channels_last() -> None:
    image, weight, *places = CASES["2d"]
    recorder = Recorder()
    one = recorder.input(normal("f4", *image), strides=(9 * 8 * 3, 1, 8 * 3, 3))
    result = recorder.call("convolution", one, recorder.input(normal("f4", *weight)), None, *places)
    assert result.spec.strides[1] == 1
    recorder.outputs(recorder.call("relu", result))
    assert not agree(recorder, 2e-5).schedule.fallbacks


def test_empty_batches_need_no_steps() -> None:
    recorder = Recorder()
    image = recorder.input(normal("f4", 0, 3, 5, 5))
    weight = recorder.input(normal("f4", 4, 3, 2, 2))
    places = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    recorder.outputs(recorder.call("convolution", image, weight, None, *places))
    program = agree(recorder)
    assert not program.schedule.fallbacks and not program.schedule.steps
