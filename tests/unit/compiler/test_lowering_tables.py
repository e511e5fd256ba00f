"""Lowerings whose places are known when they compile, against their reference rules."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest

from graphs import Recorder, agree

BFLOAT16 = ml_dtypes.bfloat16
FLOATS = ["f4", "f8", BFLOAT16]
random = numpy.random.default_rng(11)


def values(dtype: Any, *shape: int) -> numpy.ndarray:
    return numpy.asarray(random.normal(size=shape)).astype(dtype)


def name_of(dtype: Any) -> str:
    return numpy.dtype(dtype).name


def run(name: str, array: numpy.ndarray, *args: Any, tolerance: float = 1e-5) -> Any:
    """One call, compiled without a call back, agrees with its rule."""
    recorder = Recorder()
    found = recorder.call(name, recorder.input(array), *args)
    recorder.outputs(*(found if isinstance(found, tuple) else (found,)))
    program = agree(recorder, tolerance)
    assert not program.schedule.fallbacks
    return program


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("out", [(7, 3), (2, 11), (5, 6)], ids=str)
@pytest.mark.parametrize(
    "name, flags",
    [("upsample_nearest2d", ()), ("_upsample_nearest_exact2d", ()),
     ("upsample_bilinear2d", (True,)), ("upsample_bilinear2d", (False,)),
     ("upsample_bicubic2d", (False,)), ("_upsample_bilinear2d_aa", (False,))],
)  # fmt: skip
def test_pictures_of_other_sizes(
    dtype: Any, out: tuple[int, int], name: str, flags: tuple[bool, ...]
) -> None:
    run(name, values(dtype, 2, 3, 5, 6), out, *flags, None, None)
    run(f"{name}_backward", values(dtype, 2, 3, *out), out, (2, 3, 5, 6), *flags, None, None)


def test_lines_and_volumes_of_other_sizes() -> None:
    run("upsample_linear1d", values("f4", 2, 3, 40), (13,), False, None)
    run("upsample_trilinear3d", values("f4", 1, 2, 4, 5, 6), (3, 7, 2), True, None, None, None)
    run("upsample_nearest3d", values("f4", 1, 2, 4, 5, 6), (8, 3, 12), None, None, None)


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("kind", ["reflection", "replication"])
def test_borders(dtype: Any, kind: str) -> None:
    picture, padding = values(dtype, 2, 3, 5, 6), (2, 1, 0, 3)
    run(f"{kind}_pad2d", picture, padding)
    recorder = Recorder()
    grad = recorder.input(values(dtype, 2, 3, 8, 9))
    recorder.outputs(
        recorder.call(f"{kind}_pad2d_backward", grad, recorder.input(picture), padding)
    )
    assert not agree(recorder).schedule.fallbacks


@pytest.mark.parametrize("dtype", [*FLOATS, "i8", "?"], ids=name_of)
def test_roll(dtype: Any) -> None:
    array = values("f4", 4, 5, 6).astype(dtype)
    run("roll", array, (2, -7), (0, 2))
    run("roll", array, (33,), ())
    run("roll", array, (1, 1), (1, 1))


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
def test_windows_of_several_sizes(dtype: Any) -> None:
    picture = values(dtype, 2, 3, 7, 8)
    run("adaptive_avg_pool2d", picture, (3, 5))
    run("avg_pool2d", picture, (3, 2), (2, 2), (1, 1), True, False, None)
    run("avg_pool2d", picture, (7, 8), (1, 1), (0, 0), False, True, 5)
    run("adaptive_max_pool2d", picture, (3, 5))
    recorder = Recorder()
    own, grad = recorder.input(picture), recorder.input(values(dtype, 2, 3, 3, 5))
    wide = recorder.input(values(dtype, 2, 3, 4, 5))
    recorder.outputs(
        recorder.call("_adaptive_avg_pool2d_backward", grad, own),
        recorder.call("avg_pool2d_backward", wide, own, (3, 2), (2, 2), (1, 1), True, False, None),
    )
    assert not agree(recorder).schedule.fallbacks


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("step, gap, padding", [(1, 1, 0), (2, 1, 1), (3, 2, 2)])
def test_columns(dtype: Any, step: int, gap: int, padding: int) -> None:
    geometry = (3, 2), (gap, gap), (padding, padding), (step, step)
    program = run("im2col", values(dtype, 2, 3, 9, 8), *geometry)
    columns = program.schedule.outputs[0].size // 2
    run("col2im", values(dtype, 2, 18, columns // 18), (9, 8), *geometry)
    run("unfold_backward", values(dtype, 2, 3, 4, 3), (2, 3, 10), 2, 3, 2)


def test_unpooling() -> None:
    picture = values("f4", 2, 3, 6, 8)
    recorder = Recorder()
    pooled, places = recorder.call(
        "max_pool2d_with_indices", recorder.input(picture), (2, 2), (2, 2), (0, 0), (1, 1), False
    )
    recorder.outputs(recorder.call("max_unpool2d", pooled, places, (6, 8)))
    assert not agree(recorder).schedule.fallbacks


def test_equal_tables_are_kept_once() -> None:
    recorder = Recorder()
    picture = recorder.input(values("f4", 2, 3, 5, 6))
    recorder.outputs(
        *[recorder.call("upsample_bilinear2d", picture, (7, 7), True, None, None)
          for _ in range(2)]
    )
    program = agree(recorder)
    assert len(program.schedule.constants) <= 8


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"], ids=name_of)
def test_even_steps(dtype: Any) -> None:
    recorder = Recorder()
    element = recorder.input(numpy.zeros(1, dtype)).spec.dtype
    numbers = [recorder.number(each) for each in (-2.5, 7.25)]
    outputs = [
        recorder.call("linspace", *numbers, steps, element, None, None, None)
        for steps in (1, 2, 9, 100)
    ]
    outputs.append(
        recorder.call("arange.start_step", recorder.number(3), recorder.number(20),
                      recorder.number(4), element, None, None, None)
    )  # fmt: skip
    recorder.outputs(*outputs)
    assert not agree(recorder, 1e-6).schedule.fallbacks
