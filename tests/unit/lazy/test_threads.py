"""`set_num_threads` reaches compiled programs, and results repeat bit for bit for a number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

import thunk
from thunk.backends.cpu.runner import threads
from thunk.base.config import config
from thunk.compiler.lowering import LibraryCall
from thunk.lazy.compiled import computations
from thunk.lazy.eager import execution
from thunk.nn import functional as F

pytestmark = pytest.mark.skipif(threads().library is None, reason="there is no pool")


@pytest.fixture(autouse=True)
def _kept() -> Iterator[None]:
    before = config.threads
    with execution(True), config.override(interpret_first=False):
        yield
    config.threads = before


def step() -> list[numpy.ndarray]:
    """Gradients of a small network with products, convolutions and long sums."""
    thunk.manual_seed(3)
    picture = thunk.randn(8, 3, 24, 24)
    first = thunk.randn(16, 3, 3, 3).requires_grad_()
    second = thunk.randn(10, 16 * 22 * 22).requires_grad_()
    hidden = F.relu(F.conv2d(picture, first)).flatten(1)
    loss = F.cross_entropy(F.linear(hidden, second), thunk.arange(8)) + hidden.mean()
    loss.backward()
    return [numpy.asarray(each.detach().numpy()) for each in (loss, first.grad, second.grad)]


def calls() -> list[int]:
    """The numbers of threads that the library calls of programs with code were made for."""
    programs = [each.value.executable for each in computations.inspect()]
    steps = [each for program in programs if program is not None
             for each in program.schedule.steps if isinstance(each, LibraryCall)]  # fmt: skip
    return [each.keep[0].spec.threads for each in steps if each.keep is not None]


@pytest.mark.parametrize("count", [1, 2])
def test_the_pool_and_library_calls_follow(count: int) -> None:
    step()
    thunk.set_num_threads(count)
    assert thunk.get_num_threads() == count and threads().count == count
    assert not calls()  # code for another number is gone
    step()
    assert calls() and max(calls()) <= count
    assert count == 1 or 2 in calls()


@pytest.mark.parametrize("count", [1, 2])
def test_results_repeat_bit_for_bit(count: int) -> None:
    thunk.set_num_threads(count)
    expected = step()
    for _ in range(3):
        for one, other in zip(expected, step(), strict=True):
            numpy.testing.assert_array_equal(one, other)


def test_numbers_of_threads_agree_closely() -> None:
    thunk.set_num_threads(1)
    alone = step()
    thunk.set_num_threads(2)
    for one, other in zip(alone, step(), strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_an_option_of_code_makes_programs_anew() -> None:
    step()
    with config.override(onednn=False):
        found = [numpy.abs(each).sum() for each in step()]
    assert numpy.isfinite(found).all()
