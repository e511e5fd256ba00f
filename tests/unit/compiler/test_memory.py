"""Where buffers lie: overlapped lifetimes, donated inputs, memory given again."""

from __future__ import annotations

import numpy

from graphs import Recorder, agree, reference
from thunk.backends.cpu.backend import cpu
from thunk.backends.cpu.blocks import Blocks
from thunk.backends.cpu.pointers import gather
from thunk.compiler.memory import verify_plan
from thunk.ir.graph import Value


def values(*shape: int) -> numpy.ndarray:
    return numpy.asarray(numpy.random.default_rng(sum(shape)).normal(size=shape)).astype("f4")


def update(recorder: Recorder) -> tuple[list[Value], list[Value]]:
    state = [recorder.input(numpy.abs(values(3, 40))) for _ in range(4)]
    param, grad, mean, square = state
    numbers = [recorder.number(each) for each in (1e-3, 0.1, 0.999, 0.001, 0.03, 1e-8)]
    made = recorder.call("_adam_update", param, grad, mean, square, *numbers, None, None, False)
    return state, list(made)


def test_donated_inputs_are_updated_where_they_are() -> None:
    recorder = Recorder()
    _, made = update(recorder)
    recorder.outputs(*made)
    expected = reference(recorder)
    program = cpu.compile(recorder.graph, frozenset({0, 2, 3}))
    assert program.plan.sources == [0, 2, 3]
    arrays = [each.copy() for each in recorder.arrays]
    outputs = program.run(arrays, recorder.numbers)
    assert [id(each) for each in outputs] == [id(arrays[0]), id(arrays[2]), id(arrays[3])]
    for got, wanted in zip(outputs, expected, strict=True):
        numpy.testing.assert_allclose(got.view("f4"), wanted.reshape(-1), rtol=1e-5)


def test_inputs_that_are_kept_stay_as_they_are() -> None:
    recorder = Recorder()
    _, made = update(recorder)
    recorder.outputs(*made)
    before = [each.copy() for each in recorder.arrays]
    program = agree(recorder)
    assert program.plan.sources == [-1, -1, -1]
    for array, old in zip(recorder.arrays, before, strict=True):
        numpy.testing.assert_array_equal(array, old)


def test_rows_are_read_before_a_row_takes_their_memory() -> None:
    recorder = Recorder()
    value, row = recorder.input(values(6, 5)), recorder.input(values(5))
    total = recorder.call("sum.dim_IntList", value, (0,))
    recorder.outputs(total, recorder.call("sub.Tensor", row, total))
    expected = reference(recorder)
    program = cpu.compile(recorder.graph, frozenset({1}))
    assert 1 in program.plan.sources
    outputs = program.run([each.copy() for each in recorder.arrays], recorder.numbers)
    for got, wanted in zip(outputs, expected, strict=True):
        numpy.testing.assert_allclose(got.view("f4"), wanted, rtol=1e-5)


def test_input_that_is_read_again_is_not_overwritten() -> None:
    recorder = Recorder()
    value = recorder.input(values(30, 50))
    first = recorder.call("exp", value)
    turned = recorder.call("transpose.int", value, 0, 1)
    total = recorder.call("mm", recorder.call("add.Tensor", first, 0.5), turned)
    recorder.outputs(first, total)
    expected = reference(recorder)
    program = cpu.compile(recorder.graph, frozenset({0}))
    found = program.run([each.copy() for each in recorder.arrays], [])
    for got, wanted in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(got.view("f4"), wanted.reshape(-1), rtol=1e-4)


def test_row_that_is_read_in_a_later_pass_is_not_overwritten_before() -> None:
    recorder = Recorder()
    value = recorder.input(values(6, 5000))
    power = recorder.call("exp", value)
    total = recorder.call("sum.dim_IntList", power, (1,), True)
    recorder.outputs(power, recorder.call("mul.Tensor", value, total))
    expected = reference(recorder)
    program = cpu.compile(recorder.graph, frozenset({0}))
    found = program.run([each.copy() for each in recorder.arrays], [])
    for got, wanted in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(got.view("f4"), wanted.reshape(-1), rtol=1e-4)


def test_window_written_into_a_donated_cache_moves_only_the_window() -> None:
    recorder = Recorder()
    cache, row = recorder.input(values(100, 64)), recorder.input(values(64))
    recorder.outputs(recorder.call("select_scatter", cache, row, 0, 7))
    expected = reference(recorder)
    program = cpu.compile(recorder.graph, frozenset({0}))
    assert program.plan.sources == [0]
    moved = sum(step.nbytes for step in program.profile(
        [each.copy() for each in recorder.arrays], []) if step.flops)  # fmt: skip
    assert moved <= 100 * 64 * 4 + 64 * 4
    found = program.run([each.copy() for each in recorder.arrays], [])
    numpy.testing.assert_array_equal(found[0].view("f4"), expected[0].reshape(-1))


def test_temporaries_share_the_arena() -> None:
    recorder = Recorder()
    value = recorder.input(values(64, 64) / 20)
    for _ in range(10):
        value = recorder.call("tanh", recorder.call("mm", value, value))
    recorder.outputs(value)
    program = agree(recorder, 1e-4)
    verify_plan(program.plan)
    assert program.plan.arena <= 3 * 64 * 64 * 4 + 4096


def test_blocks_are_given_again_when_nobody_holds_them() -> None:
    blocks = Blocks()
    first = blocks.take(1 << 20)
    address = first.ctypes.data
    part = first[10:20]
    del first
    assert blocks.take(1 << 20).ctypes.data != address
    del part
    again = [blocks.take(1 << 20) for _ in range(2)]
    assert address in [each.ctypes.data for each in again]
    assert blocks.nbytes == 2 << 20


def test_addresses() -> None:
    arrays = [numpy.zeros(5), numpy.zeros((3, 3))[1:], numpy.zeros(0, numpy.uint8)]
    table = numpy.zeros(3, numpy.int64)
    gather(arrays, table.ctypes.data)
    assert table.tolist() == [each.ctypes.data for each in arrays]
