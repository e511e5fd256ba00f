"""Permutations, orders of filling and orders among ties, each against a plain statement of it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thunk.runtime import random
from thunk.runtime.random import Generator, permutation


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60))
def test_sorting_turns_gives_what_swapping_gives(draws: list[int]) -> None:
    length = len(draws)
    partners = numpy.array([place + draw % (length - place) for place, draw in enumerate(draws)])
    expected = list(range(length))
    for place, partner in enumerate(partners.tolist()):
        expected[place], expected[partner] = expected[partner], expected[place]
    assert permutation._swap_by_sorting(partners).tolist() == expected
    assert permutation._swap_in_turn(partners).tolist() == expected


@pytest.mark.parametrize("length", [0, 1, 2, 511, 512, 513, 20000])
def test_a_permutation_holds_every_number(length: int) -> None:
    order = random.randperm(Generator().manual_seed(0), length)
    assert order.dtype == numpy.int64
    assert sorted(order.tolist()) == list(range(length))


def test_a_very_long_permutation_is_drawn_inside_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "_LONG", 50)
    monkeypatch.setattr(permutation, "_DRAWN_AT_A_TIME", 7)
    order = random.randperm(Generator().manual_seed(0), 50)
    draws = Generator().manual_seed(0).draw64(50).tolist()
    expected: list[int] = []
    for element, draw in enumerate(draws):
        place = draw % (element + 1)
        expected.append(element)
        expected[element] = expected[place]
        expected[place] = element
    assert order.tolist() == expected
    assert sorted(expected) == list(range(50))


@pytest.mark.parametrize(
    "length, dtype", [(129, "int8"), (257, "uint8"), (2050, "float16"), (-1, "int64")]
)
def test_a_permutation_that_does_not_fit(length: int, dtype: str) -> None:
    with pytest.raises(RuntimeError, match=rf"randperm: expected n .*, got {length}; "):
        random.randperm(Generator(), length, dtype)


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
def test_memory_order_of_permuted_axes(axes: tuple[int, ...]) -> None:
    contiguous = numpy.empty((2, 3, 4), numpy.float32)
    view = contiguous.transpose(axes)
    strides = [stride // 4 for stride in view.strides]
    order = random.fill_order(view.shape, strides)
    samples = numpy.arange(24.0, dtype=numpy.float32)
    view[...] = random.arrange(samples, view.shape, order)
    numpy.testing.assert_array_equal(contiguous.ravel(), samples)


@pytest.mark.parametrize(
    "shape, strides, order",
    [
        ((), (), ()),
        ((5,), (2,), (0,)),
        ((3, 1, 2), (2, 2, 1), (0, 1, 2)),
        ((1, 3), (1, 1), (1, 0)),
        ((3, 1), (1, 1), (0, 1)),
        ((2, 3, 4, 5), (60, 1, 15, 3), (0, 2, 3, 1)),
    ],
)
def test_fill_orders(shape: Any, strides: Any, order: Any) -> None:
    assert random.fill_order(shape, strides) == order


def test_the_largest_numbers_without_ties() -> None:
    values = numpy.array([3.0, -1.0, 7.5, 0.0, 7.0])
    assert random.largest_in_order(values, 3).tolist() == [2, 4, 0]
    assert random.largest_in_order(values, 1).tolist() == [2]
    values[1] = numpy.nan
    assert random.largest_in_order(values, 2).tolist() == [1, 2]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=200), st.data())
def test_the_largest_numbers_with_ties(numbers: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(numbers)))
    values = numpy.array(numbers, numpy.float32)
    places = random.largest_in_order(values, count)
    assert len(set(places.tolist())) == count
    assert values[places].tolist() == sorted(numbers, reverse=True)[:count]
