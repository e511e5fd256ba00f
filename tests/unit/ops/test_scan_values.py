"""Scans against results worked out by hand, and against loops."""

from __future__ import annotations

import math

import numpy
import pytest

import thunk
from thunk.ops.registry import t


@pytest.mark.parametrize("reverse", (False, True))
@pytest.mark.parametrize("count", (1, 2, 7, 64, 100))
def test_a_recurrence_is_the_loop_it_stands_for(count: int, reverse: bool) -> None:
    generator = numpy.random.default_rng(count)
    decay, given = generator.normal(size=(2, 3, count))
    decay[:, count // 2] = 0
    found = t._linear_recurrence(thunk.from_numpy(decay), thunk.from_numpy(given), 1, reverse)
    wanted, carried = numpy.empty_like(given), numpy.zeros(3)
    for place in range(count)[:: -1 if reverse else 1]:
        carried = given[:, place] + decay[:, place] * carried
        wanted[:, place] = carried
    numpy.testing.assert_allclose(found.numpy(), wanted, rtol=1e-10)


def test_the_edge_of_a_recurrence_does_not_matter() -> None:
    found = t._linear_recurrence(thunk.tensor([math.inf, 0.5]), thunk.tensor([1.0, 2.0]), 0)
    assert found.tolist() == [1.0, 2.5]


def test_running_extremes_name_the_last_index() -> None:
    values, indices = thunk.tensor([1.0, 3.0, 3.0, math.nan, 5.0]).cummax(0)
    assert values.tolist()[:3] == [1.0, 3.0, 3.0]
    assert all(math.isnan(each) for each in values.tolist()[3:])
    assert indices.tolist() == [0, 1, 2, 3, 3]


def test_gradient_of_a_running_product_with_zeros() -> None:
    x = thunk.tensor([2.0, 0.0, 3.0, 0.0], requires_grad=True)
    x.cumprod(0).sum().backward()
    assert x.grad.tolist() == [1.0, 8.0, 0.0, 0.0]


def test_gradient_of_a_product_with_zeros() -> None:
    x = thunk.tensor([2.0, 0.0, 3.0], requires_grad=True)
    x.prod().backward()
    assert x.grad.tolist() == [0.0, 6.0, 0.0]


def test_running_logarithm_of_nothing() -> None:
    values = thunk.tensor([-math.inf, -math.inf, 0.0, 0.0]).logcumsumexp(0)
    assert values.tolist() == [-math.inf, -math.inf, 0.0, pytest.approx(math.log(2))]


def test_differences_and_integrals() -> None:
    squares = thunk.tensor([0.0, 1.0, 4.0, 9.0])
    assert squares.diff(n=2).tolist() == [2.0, 2.0]
    assert thunk.trapezoid(squares).item() == 9.5
    assert thunk.cumulative_trapezoid(squares).tolist() == [0.5, 3.0, 9.5]
    (slope,) = thunk.gradient(squares, edge_order=2)
    assert slope.tolist() == [0.0, 2.0, 4.0, 6.0]
    uneven = thunk.tensor([0.0, 1.0, 2.0, 3.0])
    (slope,) = thunk.gradient(squares, spacing=(uneven,), edge_order=2)
    assert slope.tolist() == [0.0, 2.0, 4.0, 6.0]


def test_in_place() -> None:
    x = thunk.tensor([1.0, 2.0, 3.0])
    assert x.cumsum_(0) is x
    assert x.tolist() == [1.0, 3.0, 6.0]
    with pytest.raises(RuntimeError):
        thunk.tensor([1, 2]).cumsum_(0, dtype=thunk.float32)
