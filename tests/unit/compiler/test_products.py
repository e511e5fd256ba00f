"""What products cost: how many library calls and kernels, and whether the values are right."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from graphs import Recorder, agree
from thunk.backends.cpu.onednn.find import status
from thunk.compiler.lowering import LibraryCall


def values(*shape: int) -> numpy.ndarray:
    return numpy.asarray(numpy.random.default_rng(sum(shape)).normal(size=shape)).astype("f4")


def calls(program: Any) -> tuple[int, int]:
    """Library calls and other steps."""
    library = sum(isinstance(each, LibraryCall) for each in program.schedule.steps)
    return library, len(program.schedule.steps) - library


def summed(recorder: Recorder, count: int, alpha: Any = 1) -> Any:
    """The gradient of a weight that `count` time steps use, as a recurrence leaves it."""
    total = None
    for _ in range(count):
        state, grad = recorder.input(values(4, 48)), recorder.input(values(4, 64))
        product = recorder.call("mm", recorder.call("t", state), grad)
        total = product if total is None else recorder.call("add.Tensor", total, product, alpha)
    return total


def test_a_sum_of_many_products_is_one_product() -> None:
    recorder = Recorder()
    recorder.outputs(summed(recorder, 6))
    assert calls(agree(recorder, 1e-4))[0] == 1


def test_factors_of_summed_products_stay_runtime_numbers() -> None:
    recorder = Recorder()
    recorder.outputs(summed(recorder, 5, recorder.number(0.25)))
    assert calls(agree(recorder, 1e-4))[0] == 1


def test_few_products_or_results_smaller_than_operands_stay_apart() -> None:
    recorder = Recorder()
    recorder.outputs(summed(recorder, 3))
    assert calls(agree(recorder, 1e-4))[0] == 3
    recorder = Recorder()
    total = None
    for _ in range(5):
        product = recorder.call("mm", recorder.input(values(4, 90)), recorder.input(values(90, 4)))
        total = product if total is None else recorder.call("add.Tensor", total, product)
    recorder.outputs(total)
    assert calls(agree(recorder, 1e-4))[0] == 5


def test_a_product_that_somebody_else_reads_stays() -> None:
    recorder = Recorder()
    total = summed(recorder, 5)
    extra = recorder.call("mm", recorder.input(values(48, 4)), recorder.input(values(4, 64)))
    recorder.outputs(recorder.call("add.Tensor", total, extra), extra)
    assert calls(agree(recorder, 1e-4))[0] == 2


def test_an_added_matrix_is_part_of_the_call() -> None:
    recorder = Recorder()
    wide = recorder.input(values(64, 300))
    part = recorder.call("slice.Tensor", wide, 1, 100, 200)
    product = (recorder.input(values(64, 50)), recorder.input(values(50, 100)))
    recorder.outputs(recorder.call("addmm", part, *product))
    assert calls(agree(recorder, 1e-4)) == (1, 0)


def recurrence(steps: int, rows: int) -> tuple[Any, list[str]]:
    """The program of products with one matrix, one after the other, and its library calls."""
    recorder = Recorder()
    state, weight = recorder.input(values(rows, 320)), recorder.input(values(320, 320) / 20)
    for _ in range(steps):
        state = recorder.call("tanh", recorder.call("mm", state, weight))
    recorder.outputs(state)
    program = agree(recorder, 1e-4)
    return program, [
        each.name.split()[0] for each in program.schedule.steps if isinstance(each, LibraryCall)
    ]


@pytest.mark.skipif(not status().found, reason="oneDNN is not installed")
def test_a_matrix_of_many_products_is_packed_once() -> None:
    assert recurrence(5, 16)[1] == ["reorder", *["matmul"] * 5]


def test_a_matrix_of_few_products_or_of_few_rows_is_not_packed() -> None:
    assert recurrence(3, 16)[1] == ["matmul"] * 3
    assert recurrence(5, 2)[1] == ["matmul"] * 5


@pytest.mark.parametrize("batch", [1, 2])
def test_the_gradient_of_a_sum_is_expanded_and_multiplies_with_a_weight(batch: int) -> None:
    recorder = Recorder()
    ones = recorder.call("expand", recorder.input(numpy.ones((), "f4")), [batch, 5])
    product = recorder.call("mm", recorder.call("t", ones), recorder.input(values(batch, 7)))
    recorder.outputs(product)
    agree(recorder)
