"""Factorizations of small matrices and what is solved by them, against the reference rules."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import thunk
from graphs import Recorder, agree, agree_without_call_back
from thunk.backends.cpu.lowering.matrices import LARGEST
from thunk.base.config import config
from thunk.base.errors import LinAlgError
from thunk.lazy.eager import execution

random = numpy.random.default_rng(23)
FLOATS = ["f4", "f8"]
SHAPES = [(1, 1), (3, 3), (5, 5), (4, 2), (2, 4), (40, 40), (2, 3, 4, 4), (3, 5, 2), (0, 0),
          (0, 3, 3), (2, 0, 0)]  # fmt: skip
SQUARE = [shape for shape in SHAPES if shape[-1] == shape[-2]]


def values(dtype: Any, *shape: int) -> numpy.ndarray:
    """Matrices that are far from singular."""
    found = random.normal(size=shape)
    size = min(shape[-2:])
    diagonal, far = numpy.arange(size), max(4, size)
    found[..., diagonal, diagonal] += numpy.where(found[..., diagonal, diagonal] < 0, -far, far)
    return found.astype(dtype)


def positive(dtype: Any, *shape: int) -> numpy.ndarray:
    found = values("f8", *shape)
    return (found @ numpy.swapaxes(found, -1, -2)).astype(dtype)


def run(dtype: Any, name: str, *args: Any) -> None:
    agree_without_call_back(2e-4 if dtype == "f4" else 1e-9, name, *args)


def turned(array: numpy.ndarray) -> numpy.ndarray:
    """The same matrices, column by column in memory."""
    return numpy.swapaxes(numpy.ascontiguousarray(numpy.swapaxes(array, -1, -2)), -1, -2)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_factors(dtype: Any, shape: tuple[int, ...]) -> None:
    array = values(dtype, *shape)
    for pivot in (True, False):
        run(dtype, "linalg_lu_factor_ex", array, pivot, False)
        run(dtype, "linalg_lu", turned(array), pivot)
    run(dtype, "geqrf", array)
    for mode in ("reduced", "complete", "r"):
        run(dtype, "linalg_qr", array, mode)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_squares(dtype: Any, shape: tuple[int, ...]) -> None:
    array = values(dtype, *shape)
    run(dtype, "linalg_inv_ex", array, False)
    run(dtype, "_linalg_det", array)
    run(dtype, "_linalg_slogdet", turned(array))
    for upper in (False, True):
        run(dtype, "linalg_cholesky_ex", positive(dtype, *shape), upper, False)
        run(dtype, "cholesky_inverse", array, upper)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "shape, other",
    [((3, 3), (3, 2)), ((4, 4), (5, 4, 1)), ((5, 1, 3, 3), (2, 3, 4)), ((1, 1), (1, 7))], ids=str,
)  # fmt: skip
def test_systems(dtype: Any, shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    array, right = values(dtype, *shape), random.normal(size=other).astype(dtype)
    sideways = turned(numpy.swapaxes(right, -1, -2))
    packed, pivots = values(dtype, *shape), numpy.zeros(shape[:-1], "i4")
    pivots[...] = [random.integers(step, shape[-1]) + 1 for step in range(shape[-1])]
    for flag in (False, True):
        for left, side in ((True, right), (False, sideways)):
            run(dtype, "_linalg_solve_ex", array, side, left, False)
            run(dtype, "linalg_lu_solve", packed, pivots, side, left, flag)
            for unit in (False, True):
                run(dtype, "linalg_solve_triangular", array, side, flag, left, unit)
        run(dtype, "cholesky_solve", right, array, flag)
        for transpose in (False, True):
            run(dtype, "triangular_solve", right, array, flag, transpose, False)
    run(dtype, "_linalg_solve_ex", array[..., :, :], array[..., 0], True, False)
    for pair in ((True, True), (True, False), (False, True)):
        run(dtype, "lu_unpack", packed, pivots, *pair)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (2, 4, 2)], ids=str)
def test_reflections(dtype: Any, shape: tuple[int, ...]) -> None:
    packed, taus = values(dtype, *shape), random.normal(size=(*shape[:-2], shape[-1]))
    run(dtype, "linalg_householder_product", packed, taus.astype(dtype))
    run(dtype, "linalg_householder_product", packed, taus[..., :1].astype(dtype))
    for left in (True, False):
        size = (shape[-2], 6) if left else (6, shape[-2])
        other = random.normal(size=(*shape[:-2], *size)).astype(dtype)
        for transpose in (True, False):
            run(dtype, "ormqr", packed, taus.astype(dtype), other, left, transpose)


def test_a_norm_does_not_overflow_where_its_matrix_does_not() -> None:
    run("f8", "geqrf", values("f8", 6, 3) * 1e300)
    run("f4", "geqrf", values("f4", 6, 3) * numpy.float32(1e-30))


def test_failures_are_told_as_the_rules_tell_them() -> None:
    def check(call: Any, message: str) -> None:
        compiled = config.override(interpret_first=False)
        with execution(True), compiled, pytest.raises(LinAlgError, match=message):
            call()

    singular = thunk.ones(3, 2, 2)
    singular[0] = thunk.eye(2)
    check(lambda: thunk.linalg.inv(singular), r"Batch element 1\): The diagonal element 2 is zero")
    check(lambda: thunk.linalg.solve(thunk.zeros(2, 2), thunk.ones(2)), "matrix is singular")
    check(lambda: thunk.linalg.cholesky(-thunk.eye(3)), "leading minor of order 1 is not positive")
    check(lambda: thunk.linalg.lu_factor(thunk.zeros(2, 2)), r"U\[1,1\] is zero")
    check(lambda: thunk.cholesky_inverse(thunk.zeros(2, 2)).sum().item(), "diagonal element 1")


def test_zero_pivots_are_noted_and_large_matrices_left_to_blocks() -> None:
    run("f8", "linalg_lu_factor_ex", numpy.zeros((2, 3, 3)), True, False)
    run("f8", "linalg_cholesky_ex", -numpy.stack([numpy.eye(3), -numpy.eye(3)]), False, False)
    recorder = Recorder()
    size = LARGEST + 1
    recorder.outputs(*recorder.call("_linalg_det", recorder.input(values("f8", size, size))))
    assert agree(recorder, 1e-9).schedule.fallbacks == {"aten::_linalg_det": 1}


@pytest.mark.parametrize("name", ["linalg_cholesky_ex", "linalg_inv_ex"])
@pytest.mark.parametrize("array", [numpy.eye(3), -numpy.eye(3)], ids=["good", "bad"])
def test_what_a_routine_changes_is_filled_also_where_nobody_reads_it(
    name: str, array: numpy.ndarray
) -> None:
    """Only whether the factorization worked is asked for."""
    recorder = Recorder()
    given = recorder.call("mul.Tensor", recorder.input(array.astype("f4")), recorder.number(2.0))
    found = recorder.call(name, given)
    recorder.outputs(recorder.call("eq.Tensor", found[1], recorder.number(0)))
    assert not agree(recorder, 1e-4).schedule.fallbacks


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_exponentials(dtype: Any, shape: tuple[int, ...]) -> None:
    array = values(dtype, *shape)
    run(dtype, "linalg_matrix_exp", array)
    run(dtype, "linalg_matrix_exp", array * 1e-3)
    if array.ndim > 2 and array.size:
        array[0, ..., 0, 0] = numpy.inf
        run(dtype, "linalg_matrix_exp", array)
