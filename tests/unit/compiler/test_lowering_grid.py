"""Sampling by grids and losses by margins, compiled, against their reference rules."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from graphs import Recorder, agree, agree_without_call_back

random = numpy.random.default_rng(31)
FLOATS = ["f4", "f8"]


def run(dtype: Any, name: str, *args: Any) -> None:
    agree_without_call_back(1e-4 if dtype == "f4" else 1e-10, name, *args)


@pytest.mark.parametrize("dtype, aligned", [("f4", False), ("f8", True)])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("size", [(5, 4), (1, 3), (3, 4, 2)], ids=str)
def test_grid(
    dtype: Any, size: tuple[int, ...], mode: int, padding: int, aligned: bool
) -> None:
    dims = len(size)
    if dims == 3 and mode == 2:
        return  # bicubic is for pictures
    picture = random.normal(size=(2, 3, *size)).astype(dtype)
    grid = (random.normal(size=(2, *[3] * dims, dims)) * 1.3).astype(dtype)
    output = random.normal(size=(2, 3, *[3] * dims)).astype(dtype)
    options = (mode, padding, aligned)
    run(dtype, f"grid_sampler_{dims}d", picture, grid, *options)
    for mask in ((True, True), (False, True)):
        run(dtype, f"grid_sampler_{dims}d_backward", output, picture, grid, *options, mask)
    turned = random.normal(size=grid.shape).astype(dtype)
    run(dtype, "_grid_sampler_double_backward", turned, output, picture, grid, *options)


@pytest.mark.parametrize("dtype", FLOATS)
def test_places_that_are_no_numbers_are_outside(dtype: Any) -> None:
    picture = random.normal(size=(1, 2, 3, 3)).astype(dtype)
    grid = numpy.array([numpy.nan, 0.2, 5.0, -7.0, 0.0, numpy.inf, -1.0, 1.0], dtype)
    for padding in (0, 1):
        run(dtype, "grid_sampler_2d", picture, grid.reshape(1, 2, 2, 2), 0, padding, False)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(5, 7), (4,), (1, 1)], ids=str)
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_margins(dtype: Any, shape: tuple[int, ...], reduction: int) -> None:
    scores = random.normal(size=shape).astype(dtype)
    right = random.integers(0, shape[-1], shape[:-1])
    weight = random.random(shape[-1]).astype(dtype)
    row = random.normal(size=shape[:-1] if reduction == 0 else ()).astype(dtype)
    for p in (1, 2):
        for given in (None, weight):
            run(dtype, "multi_margin_loss", scores, right, p, 0.7, given, reduction)
            run(dtype, "multi_margin_loss_backward", row, scores, right, p, 0.7, given, reduction)
    listed = random.integers(-1, shape[-1], shape)
    run(dtype, "multilabel_margin_loss_forward", scores, listed, reduction)
    mask = numpy.zeros(shape, dtype)
    run(dtype, "multilabel_margin_loss_backward", row, scores, listed, reduction, mask)


def test_one_score_alone_lacks_nothing() -> None:
    score, row = numpy.array(0.3, "f4"), numpy.array(2.0, "f4")
    for target in (numpy.array(0), numpy.array([0])):
        run("f4", "multi_margin_loss", score, target, 1, 1.0, None, 1)
        run("f4", "multi_margin_loss_backward", row, score, target, 1, 1.0, None, 1)
    for target in (numpy.array(0), numpy.array(-1)):
        run("f4", "multilabel_margin_loss_forward", score, target, 1)
        run("f4", "multilabel_margin_loss_backward", row, score, target, 1, row)


def test_a_class_that_is_none_raises() -> None:
    for name, target in (("multi_margin_loss", [1, 3]), ("multilabel_margin_loss_forward", None)):
        recorder = Recorder()
        scores = recorder.input(numpy.ones((2, 3), "f4"))
        wrong = [[0, -2, 1], [0, 1, 2]] if target is None else target
        options = (1, 1, None, 1) if target is not None else (1,)
        found = recorder.call(name, scores, recorder.input(numpy.array(wrong)), *options)
        recorder.outputs(*(found if isinstance(found, tuple) else (found,)))
        with pytest.raises(RuntimeError, match="target"):
            agree(recorder)
