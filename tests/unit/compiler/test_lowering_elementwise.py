"""Elementwise lowerings and reductions against their reference rules, over dtypes and shapes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest

from graphs import Recorder, agree
from thunk.types.dtype import from_numpy_dtype

BFLOAT16 = ml_dtypes.bfloat16
DTYPES = ["f4", "f8", BFLOAT16, numpy.float16, "i4", "i8", "i1", "u1", "?"]
FLOATS = DTYPES[:4]
SHAPES = [(), (1,), (7,), (64, 10), (3, 1, 5), (0, 4), (33, 130), (2, 3, 4, 5)]
SPECIAL = [0.0, -0.0, 1.0, -1.5, numpy.inf, -numpy.inf, numpy.nan, 1e-42, 3e38]


def values(dtype: Any, *shape: int, seed: int = 0) -> numpy.ndarray:
    found = numpy.random.default_rng(seed).normal(size=shape) * 3
    return found > 0 if dtype == "?" else numpy.asarray(found).astype(dtype)


def name_of(dtype: Any) -> str:
    return numpy.dtype(dtype).name


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_binary(dtype: Any, shape: tuple[int, ...]) -> None:
    recorder = Recorder()
    left, right = (recorder.input(values(dtype, *shape, seed=seed)) for seed in (1, 2))
    names = ["add", "mul", "eq", "lt", "ge"]
    found = [recorder.call(f"{name}.Tensor", left, right) for name in names]
    found += [recorder.call(name, left, right) for name in ("maximum", "minimum", "logical_and")]
    recorder.outputs(*found)
    assert not agree(recorder).schedule.fallbacks


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_unary(dtype: Any) -> None:
    recorder = Recorder()
    value = recorder.input(values(dtype, 5, 33))
    names = ["sign", "sqrt", "clone", "isnan", "logical_not", "sin", "exp", "sigmoid", "tanh"]
    if dtype != "?":
        names += ["relu", "abs", "neg", "floor", "trunc"]
    recorder.outputs(*[recorder.call(name, value) for name in names])
    assert not agree(recorder, 2e-5).schedule.fallbacks


@pytest.mark.parametrize("source", DTYPES, ids=name_of)
def test_casts(source: Any) -> None:
    recorder = Recorder()
    value = recorder.input(values(source, 5, 37))
    targets = [*DTYPES, "i2"]
    found = [
        recorder.call("_to_copy", value, from_numpy_dtype(numpy.dtype(each))) for each in targets
    ]
    recorder.outputs(*found)
    assert not agree(recorder).schedule.fallbacks


@pytest.mark.parametrize("name", ["add.Tensor", "mul.Tensor", "div.Tensor", "maximum"])
def test_infinities_and_signed_zeros(name: str) -> None:
    special = numpy.array(SPECIAL, "f4")
    recorder = Recorder()
    left = recorder.input(numpy.repeat(special, len(special)))
    right = recorder.input(numpy.tile(special, len(special)))
    recorder.outputs(recorder.call(name, left, right))
    assert not agree(recorder, 0).schedule.fallbacks


def test_operands_that_are_views() -> None:
    recorder = Recorder()
    base = recorder.input(values("f4", 6, 20))
    turned = recorder.call("transpose.int", base, 0, 1)
    part = recorder.call("slice.Tensor", base, 1, 3, 9, 2)
    row = recorder.call("select.int", base, 0, 2)
    wide = recorder.call("expand", recorder.call("unsqueeze", row, 0), (6, 20))
    recorder.outputs(
        recorder.call("add.Tensor", turned, recorder.call("transpose.int", wide, 0, 1)),
        recorder.call("mul.Tensor", part, part),
        recorder.call("clone", turned),
    )
    assert not agree(recorder).schedule.fallbacks


def test_transposed_memory() -> None:
    recorder = Recorder()
    left = recorder.input(values("f4", 9, 21), strides=(1, 9))
    right = recorder.input(values("f4", 9, 21, seed=3))
    recorder.outputs(
        recorder.call("add.Tensor", left, left), recorder.call("add.Tensor", left, right)
    )
    assert not agree(recorder).schedule.fallbacks


@pytest.mark.parametrize("dtype", ["i4", "i8", "u1", "i1", "f4"], ids=name_of)
def test_quotients(dtype: Any) -> None:
    recorder = Recorder()
    left = recorder.input(values(dtype, 40, 3))
    divisors = numpy.random.default_rng(1).integers(1, 9, (40, 3))
    signs = 1 if dtype == "u1" else numpy.where(divisors > 4, -1, 1)
    right = recorder.input((divisors * signs).astype(dtype))
    names = ["floor_divide", "remainder.Tensor", "fmod.Tensor"]
    found = [recorder.call(name, left, right) for name in names]
    found.append(recorder.call("div.Tensor_mode", left, right, "trunc"))
    recorder.outputs(*found)
    assert not agree(recorder).schedule.fallbacks


def test_least_integer_by_minus_one() -> None:
    recorder = Recorder()
    left = recorder.input(numpy.full(20, -(1 << 31), "i4"))
    recorder.outputs(recorder.call("remainder.Tensor", left, recorder.input(-numpy.ones(20, "i4"))))
    agree(recorder)


def test_zero_divisor_raises() -> None:
    recorder = Recorder()
    left = recorder.input(numpy.arange(40, dtype="i4"))
    right = recorder.input(numpy.arange(40, dtype="i4") - 20)
    recorder.outputs(recorder.call("floor_divide", left, right))
    with pytest.raises(RuntimeError, match="floor_divide: ZeroDivisionError"):
        agree(recorder)


DIMS: list[tuple[tuple[int, ...], Any]] = [
    ((), None), ((7,), (0,)), ((64, 10), (0,)), ((64, 10), (1,)), ((3, 1, 5), (0, -1)),
    ((33, 130), None), ((2, 3, 4, 5), (1, 3)), ((0, 4), (0,)), ((0, 4), (1,)), ((5, 3000), (1,)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("shape, dim", DIMS, ids=str)
def test_reductions(dtype: Any, shape: tuple[int, ...], dim: Any) -> None:
    recorder = Recorder()
    value = recorder.input(values(dtype, *shape))
    found = [recorder.call("sum.dim_IntList", value, dim, keep) for keep in (False, True)]
    if dim is not None:
        found.append(recorder.call("any.dims", value, dim))
        found.append(recorder.call("all.dims", value, dim, True))
    if 0 not in shape:
        over = () if dim is None else dim
        found += [recorder.call(name, value, over) for name in ("amax", "amin")]
        if dtype in FLOATS:
            found.append(recorder.call("mean.dim", value, dim))
            if numpy.prod(shape) > 1:
                found.append(recorder.call("var.correction", value, dim, 1, True))
        elif dtype != "?" and dim is not None and len(dim) == 1:
            found += recorder.call("max.dim", value, dim[0])
            found.append(recorder.call("argmin", value, dim[0]))
    recorder.outputs(*found)
    assert not agree(recorder, 1e-4).schedule.fallbacks


def test_the_first_nan_is_the_largest() -> None:
    recorder = Recorder()
    array = values("f4", 4, 50)
    array[1, 7] = array[1, 30] = array[3, 0] = numpy.nan
    value = recorder.input(array)
    recorder.outputs(*recorder.call("max.dim", value, 1), recorder.call("argmin", value))
    agree(recorder)


def test_long_sums_are_as_exact_as_pairwise_ones() -> None:
    array = (numpy.random.default_rng(0).random(1 << 20) + 0.5).astype("f4")
    for shape, dim in (((1 << 20,), 0), ((1 << 16, 16), 0), ((16, 1 << 16), 1)):
        recorder = Recorder()
        recorder.outputs(
            recorder.call("sum.dim_IntList", recorder.input(array.reshape(shape)), (dim,))
        )
        program = agree(recorder, 1e-6)
        found = program.run(recorder.arrays, [])[0].view("f4")
        exact = array.reshape(shape).sum(dim, dtype="f8").reshape(-1)
        assert numpy.abs(found - exact).max() <= 4e-7 * exact.max()
