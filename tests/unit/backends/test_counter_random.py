"""Operators with a counter's random numbers: compiled code draws what the reference rules draw."""

from typing import Any

import numpy
import pytest

import graphs
import thunk
from thunk.backends.cpu.llvm.emitter import emit_kernel
from thunk.backends.cpu.machine import lanes
from thunk.ops.registry import t
from thunk.runtime.random import philox

SHAPES = [(), (1,), (7,), (64,), (3, 5), (4, 33, 16), (2, 1000)]
FLOATS = (numpy.float32, numpy.float64)


def recorded(name: str, shape: tuple[int, ...], dtype: Any, seed: int, offset: int) -> Any:
    recorder = graphs.Recorder()
    x = recorder.input(numpy.random.default_rng(0).normal(size=shape).astype(dtype))
    numbers = [recorder.number(0.3)] if name in ("bernoulli", "dropout") else []
    numbers += [recorder.number(seed), recorder.number(offset)]
    found = recorder.call(f"_counter_{name}", x, *numbers)
    recorder.outputs(*(found if isinstance(found, (list, tuple)) else [found]))
    return recorder


@pytest.mark.parametrize("name", ["bernoulli", "uniform", "normal", "dropout"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_compiled_numbers_are_the_references(name: str, shape: tuple[int, ...]) -> None:
    for dtype in FLOATS:
        recorder = recorded(name, shape, dtype, 2**63 + 12345, 7)
        program = graphs.agree(recorder, 0.0)
        assert program.schedule.fallbacks == {}


def test_a_mask_meets_what_reads_it_in_one_kernel() -> None:
    """dropout(relu(x)) * 2 is one loop nest, and its mask is computed once."""
    recorder = graphs.Recorder()
    x = recorder.input(numpy.random.default_rng(0).normal(size=(64, 48)).astype("f"))
    numbers = [recorder.number(each) for each in (0.5, 3, 4)]
    dropped, mask = recorder.call("_counter_dropout", recorder.call("relu", x), *numbers)
    recorder.outputs(recorder.call("mul.Tensor", dropped, 2.0), mask)
    program = graphs.agree(recorder, 0.0)
    assert len(program.schedule.steps) == 1
    text = emit_kernel(program.loops[0], lanes(), "kernel")
    products = [line for line in text.splitlines() if " mul " in line and "i64>" in line]
    assert len(products) == 2 * philox.ROUNDS


def test_the_gradient_of_dropout_is_one_kernel_with_what_it_meets() -> None:
    recorder = graphs.Recorder()
    grad = recorder.input(numpy.random.default_rng(1).normal(size=(64, 48)).astype("f"))
    mask = recorder.input(numpy.random.default_rng(2).random((64, 48)) < 0.5)
    back = recorder.call("native_dropout_backward", grad, mask, recorder.number(2.0))
    recorder.outputs(recorder.call("mul.Tensor", back, 3.0))
    program = graphs.agree(recorder, 0.0)
    assert program.schedule.fallbacks == {}
    assert len(program.schedule.steps) == 1


def test_a_transposed_operand_draws_by_row_major_index() -> None:
    """The stream follows the element's index, not its place in memory."""
    plain = thunk.zeros(6, 4)
    turned = thunk.zeros(4, 6).t()
    assert plain.stride() != turned.stride()
    first = t._counter_uniform(plain, 5, 1)
    second = t._counter_uniform(turned, 5, 1)
    assert (first == second).all()


def test_probabilities_zero_and_one() -> None:
    x = thunk.ones(1000)
    for p, kept in ((0.0, 1000), (1.0, 0)):
        value, mask = t._counter_dropout(x, p, 1, 2)
        assert int(mask.sum()) == kept
        assert float(value.sum()) == kept


def test_dropout_keeps_the_mean_and_has_a_gradient() -> None:
    x = thunk.ones(20_000, requires_grad=True)
    value, mask = t._counter_dropout(x, 0.25, 9, 0)
    assert abs(float(value.mean()) - 1) < 0.02
    value.sum().backward()
    assert x.grad is not None
    numpy.testing.assert_allclose(x.grad.numpy(), mask.numpy() / 0.75, rtol=1e-6)


def test_seeds_and_offsets_name_streams() -> None:
    x = thunk.zeros(64)
    draws = {t._counter_uniform(x, seed, offset).numpy().tobytes()
             for seed, offset in ((1, 0), (2, 0), (1, 1), (2**64 - 1, 0))}  # fmt: skip
    assert len(draws) == 4
    again = t._counter_uniform(x, 1, 0)
    assert again.numpy().tobytes() in draws
