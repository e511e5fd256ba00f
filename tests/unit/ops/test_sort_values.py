"""Sorting, distinct values and search against results worked out by hand."""

from __future__ import annotations

import math

import numpy
import pytest

import thunk

NAN = math.nan


@pytest.mark.parametrize("descending", (False, True))
def test_equals_keep_their_order(descending: bool) -> None:
    values = numpy.random.default_rng(0).integers(0, 9, 5_000)
    order = thunk.sort(thunk.from_numpy(values), stable=True, descending=descending).indices
    keys = -values if descending else values
    assert order.tolist() == numpy.argsort(keys, kind="stable").tolist()


def test_nan_sorts_last_and_first_when_descending() -> None:
    values = thunk.tensor([1.0, NAN, -1.0])
    assert values.argsort().tolist() == [2, 0, 1]
    assert values.argsort(descending=True).tolist() == [1, 0, 2]


@pytest.mark.parametrize("largest", (False, True))
def test_the_few_of_many_are_those_of_a_sort(largest: bool) -> None:
    values = numpy.random.default_rng(1).random((3, 10_000))
    values[0, 17] = NAN
    tensor = thunk.from_numpy(values)
    found, indices = tensor.topk(5, largest=largest)
    wanted = tensor.sort(descending=largest)
    assert numpy.array_equal(found.numpy(), wanted.values[:, :5].numpy(), equal_nan=True)
    assert indices.tolist() == wanted.indices[:, :5].tolist()


def test_unique_gives_back_what_it_was_made_of() -> None:
    tensor = thunk.tensor([[3, 1], [3, 2]])
    values, inverse, counts = tensor.unique(return_inverse=True, return_counts=True)
    assert values.tolist() == [1, 2, 3]
    assert values[inverse].tolist() == tensor.tolist()
    assert counts.tolist() == [1, 1, 2]


def test_unique_slices_are_in_lexicographic_order() -> None:
    rows = thunk.tensor([[2, 1], [1, 9], [2, 1], [1, 3]])
    values, inverse = thunk.unique(rows, dim=0, return_inverse=True)
    assert values.tolist() == [[1, 3], [1, 9], [2, 1]]
    assert inverse.tolist() == [2, 1, 2, 0]


def test_consecutive_keeps_later_repetitions() -> None:
    values, counts = thunk.unique_consecutive(thunk.tensor([1, 1, 2, 1]), return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([1, 2, 1], [2, 1, 1])


def test_unique_does_not_drop_a_gradient_in_silence() -> None:
    x = thunk.tensor([1.0, 1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="does not change smoothly"):
        thunk.unique(x).sum().backward()


def test_search_on_both_sides() -> None:
    edges = thunk.tensor([1.0, 3.0, 3.0, 5.0])
    values = thunk.tensor([0.0, 3.0, 9.0, NAN])
    assert thunk.searchsorted(edges, values).tolist() == [0, 1, 4, 4]
    assert thunk.bucketize(values, edges, right=True).tolist() == [0, 3, 4, 4]
    assert thunk.searchsorted(edges, 3.0, out_int32=True).dtype is thunk.int32


def test_search_in_many_rows() -> None:
    rows = numpy.sort(numpy.random.default_rng(2).random((4, 33)), 1)
    values = numpy.random.default_rng(3).random((4, 7))
    found = thunk.searchsorted(thunk.from_numpy(rows), thunk.from_numpy(values)).numpy()
    for row, value, places in zip(rows, values, found, strict=True):
        assert places.tolist() == numpy.searchsorted(row, value).tolist()


def test_membership() -> None:
    assert thunk.isin(thunk.tensor([1, 2, 3]), thunk.tensor([3, 1])).tolist() == [True, False, True]
    assert thunk.isin(thunk.tensor([1, 2]), 2, invert=True).tolist() == [True, False]
