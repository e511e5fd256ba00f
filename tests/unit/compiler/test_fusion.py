"""What becomes one kernel, what stays apart, and that random graphs compute what they should."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphs import Recorder, agree
from thunk.compiler.access import Access, Buffer
from thunk.compiler.domain import link, split_strides
from thunk.compiler.expression import Expressions
from thunk.compiler.nest import apart
from thunk.compiler.statement import Statement
from thunk.ir.graph import Value
from thunk.types.dtype import float32


def values(*shape: int) -> numpy.ndarray:
    return numpy.asarray(numpy.random.default_rng(sum(shape)).normal(size=shape)).astype("f4")


def kernels(recorder: Recorder, tolerance: float = 1e-5) -> int:
    program = agree(recorder, tolerance)
    assert not program.schedule.fallbacks
    return len(program.schedule.steps)


def test_chain_is_one_kernel_without_memory() -> None:
    recorder = Recorder()
    value = recorder.input(values(100, 37))
    for name in ("tanh", "exp", "abs", "neg", "relu") * 4:
        value = recorder.call("mul.Tensor", recorder.call(name, value), recorder.number(0.5))
    recorder.outputs(value)
    program = agree(recorder, 1e-4)
    assert len(program.schedule.steps) == 1
    assert program.plan.arena == 0


def test_chain_with_rows_and_columns_is_one_kernel() -> None:
    recorder = Recorder()
    value, row = recorder.input(values(64, 10)), recorder.input(values(10))
    column = recorder.input(values(64, 1))
    total = recorder.call("add.Tensor", recorder.call("mul.Tensor", value, row), column)
    recorder.outputs(recorder.call("relu", total), recorder.call("sum.dim_IntList", total, (1,)))
    assert kernels(recorder) == 1


def test_reshaping_does_not_separate() -> None:
    recorder = Recorder()
    value = recorder.input(values(4, 6, 10))
    flat = recorder.call("view", recorder.call("exp", value), (240,))
    again = recorder.call("view", recorder.call("neg", flat), (24, 10))
    recorder.outputs(recorder.call("sum.dim_IntList", again, (1,)))
    assert kernels(recorder) == 1


def test_epilogue_of_a_reduction_is_fused() -> None:
    recorder = Recorder()
    value = recorder.input(values(30, 50))
    mean = recorder.call("mean.dim", recorder.call("mul.Tensor", value, value), (0,))
    recorder.outputs(recorder.call("sqrt", recorder.call("add.Tensor", mean, 1e-5)))
    assert kernels(recorder) == 1


def test_reductions_along_different_loops_stay_apart() -> None:
    recorder = Recorder()
    value = recorder.call("exp", recorder.input(values(30, 50)))
    recorder.outputs(
        recorder.call("sum.dim_IntList", value, (0,)), recorder.call("sum.dim_IntList", value, (1,))
    )
    assert kernels(recorder) == 2


def test_rows_of_one_of_two_reduced_loops_stay_apart() -> None:
    recorder = Recorder()
    value, row = recorder.input(values(5, 5)), recorder.input(values(5))
    total = recorder.call("sum", recorder.call("mul.Tensor", value, row))
    recorder.outputs(total, row)
    assert kernels(recorder) == 2


def test_parts_of_a_result_are_written_by_the_kernel_that_computes_them() -> None:
    recorder = Recorder()
    gates = recorder.input(values(6, 40))
    parts = [recorder.call("slice.Tensor", gates, 1, start, start + 10) for start in (0, 10, 20)]
    product = recorder.call("mul.Tensor", parts[0], parts[1])
    made = [product, recorder.call("tanh", product), recorder.call("mul.Tensor", product, parts[2])]
    recorder.outputs(recorder.call("cat", tuple(made), 1))
    assert kernels(recorder) == 1


def test_statements_that_write_apart() -> None:
    terms, buffer = Expressions(), Buffer("b", float32, 100)

    def wrote(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Statement:
        target = Access(buffer, float32, strides, offset)
        return Statement(sizes, (False,) * len(sizes), target, terms.constant(0, float32))

    columns = wrote((10, 4), (10, 1), 0)
    assert apart(columns, wrote((10, 4), (10, 1), 4))
    assert apart(columns, wrote((10, 4), (10, 1), 6))
    assert not apart(columns, wrote((10, 4), (10, 1), 3))
    assert not apart(columns, wrote((10, 4), (10, 1), 10))
    assert apart(wrote((3, 10), (10, 1), 0), wrote((50,), (1,), 30))
    assert not apart(wrote((3, 10), (10, 1), 0), wrote((50,), (1,), 29))


def test_constants_are_no_memory() -> None:
    recorder = Recorder()
    value = recorder.input(values(30, 50))
    ones = recorder.call("ones", (30, 50))
    scaled = recorder.call("mul.Tensor", ones, recorder.number(0.25))
    recorder.outputs(recorder.call("add.Tensor", value, scaled))
    program = agree(recorder)
    assert len(program.schedule.steps) == 1
    assert program.plan.arena == 0


def test_what_no_output_needs_is_not_computed() -> None:
    recorder = Recorder()
    value = recorder.input(values(30))
    recorder.call("exp", value)
    recorder.outputs(recorder.call("neg", value))
    program = agree(recorder)
    assert program.schedule.nests[0].names == ["aten::neg"]


def test_kernels_carry_the_lines_of_the_user() -> None:
    recorder = Recorder()
    value = recorder.input(values(30))
    recorder.outputs(recorder.call("neg", recorder.call("exp", value)))
    program = agree(recorder)
    assert program.schedule.nests[0].lines == ["test.py:1", "test.py:2"]
    text = program.text()
    assert "test.py:2" in text and "define void" in text and "arena" in text


def test_outputs_that_are_inputs_views_or_twins() -> None:
    recorder = Recorder()
    value = recorder.input(values(6, 8))
    result = recorder.call("neg", value)
    turned = recorder.call("transpose.int", result, 0, 1)
    recorder.outputs(value, result, result, turned, recorder.call("select.int", value, 0, 3))
    agree(recorder)


def test_links() -> None:
    found = link((8, 10), (10, 1), (80,), (1,))
    assert found is not None and found.right == ((8, 10),)
    assert split_strides((1,), found.right) == (10, 1)
    assert link((8, 10), (10, 1), (5, 16), (16, 1)) is None
    assert link((8, 10), (1, 8), (8, 10), (10, 1)) is None


UNARY = ["neg", "exp", "relu", "abs", "tanh", "sigmoid"]
BINARY = ["add.Tensor", "mul.Tensor", "sub.Tensor", "maximum"]
DIM_SHAPES = [(6, 8), (6, 1), (8,), (48,), (1, 8), (2, 3, 8)]


@st.composite
def programs(draw: st.DrawFn) -> Recorder:
    recorder = Recorder()
    pool = [recorder.input(values(*shape) / 4) for shape in DIM_SHAPES[:3]]
    for _ in range(draw(st.integers(5, 25))):
        value = draw(st.sampled_from(pool))
        kind = draw(st.sampled_from(["unary", "binary", "view", "reduce", "softmax", "number"]))
        made = _step(draw, recorder, pool, value, kind)
        if made is not None:
            pool.append(made)
    count = draw(st.integers(1, 4))
    outputs = draw(st.lists(st.sampled_from(pool), min_size=count, max_size=count))
    recorder.outputs(*outputs, pool[-1])
    return recorder


def _step(
    draw: st.DrawFn, recorder: Recorder, pool: list[Value], value: Value, kind: str
) -> Value | None:
    shape = value.spec.shape
    if kind == "unary":
        return recorder.call("tanh", recorder.call(draw(st.sampled_from(UNARY)), value))
    if kind == "number":
        return recorder.call("mul.Tensor", value, recorder.number(draw(st.floats(-1, 1))))
    if kind == "binary":
        other = draw(st.sampled_from(pool))
        try:
            numpy.broadcast_shapes(shape, other.spec.shape)
        except ValueError:
            return None
        return recorder.call(draw(st.sampled_from(BINARY)), value, other)
    if not shape:
        return None
    dim = draw(st.integers(0, len(shape) - 1))
    if kind == "reduce":
        name = draw(st.sampled_from(["sum.dim_IntList", "amax", "mean.dim"]))
        scaled = recorder.call("mul.Tensor", value, 0.1)
        return recorder.call(name, scaled, (dim,), draw(st.booleans()))
    if kind == "softmax":
        return recorder.call("_softmax", value, dim, False)
    view = draw(st.sampled_from(["transpose", "slice", "flat"]))
    if view == "transpose":
        return recorder.call("transpose.int", value, dim, 0)
    if view == "slice" and shape[dim] > 2:
        return recorder.call("slice.Tensor", value, dim, 1, shape[dim] - 1)
    if value.spec.is_contiguous():
        return recorder.call("view", value, (value.spec.numel,))
    return None


@pytest.mark.slow
@settings(
    max_examples=150, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(programs())
def test_random_graphs(recorder: Recorder) -> None:
    agree(recorder, 1e-4)
