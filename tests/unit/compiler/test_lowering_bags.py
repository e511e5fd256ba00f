"""Bags of rows, distances of all pairs and histograms, compiled, against their reference rules."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

from graphs import Recorder, agree, agree_without_call_back

random = numpy.random.default_rng(37)
FLOATS = ["f4", "f8"]


def run(dtype: Any, name: str, *args: Any) -> None:
    agree_without_call_back(1e-5 if dtype == "f4" else 1e-12, name, *args)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("last", [False, True])
def test_bags(dtype: Any, mode: int, last: bool) -> None:
    weight = random.normal(size=(7, 5)).astype(dtype)
    for indices, offsets in (([1, 3, 3, 0, 6, 2], [0, 2, 2, 5]), ([4], [0, 1])):
        flat, starts = numpy.array(indices), numpy.array(offsets)
        bags = len(offsets) - last
        share = random.random(len(indices)).astype(dtype) if mode == 0 else None
        for padding in (-1, 3):
            run(dtype, "_embedding_bag", weight, flat, starts, False, mode, False, share, last,
                padding)
            bag = numpy.searchsorted(starts[:bags], numpy.arange(flat.size), "right") - 1
            sizes = numpy.bincount(bag, minlength=bags)
            largest = random.integers(0, 7, (bags, 5) if mode == 2 else (bags,))
            grad = random.normal(size=(bags, 5)).astype(dtype)
            for often in (False, True) if mode < 2 else (False,):
                run(dtype, "_embedding_bag_dense_backward", grad, flat, bag, sizes, largest, 7,
                    often, mode, share, padding)
            run(dtype, "_embedding_bag_per_sample_weights_backward", grad, weight, flat, starts,
                bag, mode, padding)


def test_an_index_that_is_none_raises() -> None:
    for indices, offsets in (([9], [0]), ([1], [1]), ([1], [0, 4])):
        recorder = Recorder()
        operands = [numpy.ones((3, 2)), numpy.array(indices), numpy.array(offsets)]
        recorder.outputs(*recorder.call("_embedding_bag", *map(recorder.input, operands)))
        with pytest.raises(RuntimeError, match=r"embedding_bag: (index|offsets)"):
            agree(recorder)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_distances_of_pairs(dtype: Any, p: float) -> None:
    rows = random.normal(size=(6, 4)).astype(dtype)
    rows[3] = rows[1]
    pairs = numpy.array(list(itertools.combinations(range(6), 2)))
    apart = numpy.abs(rows[pairs[:, 0]] - rows[pairs[:, 1]])
    norms = {0.0: (apart != 0).sum(1), float("inf"): apart.max(1)}.get(p)
    if norms is None:
        norms = (apart**p).sum(1) ** (1 / p)
    run(dtype, "_pdist_forward", rows, p)
    grad = random.normal(size=len(pairs)).astype(dtype)
    run(dtype, "_pdist_backward", grad, rows, p, norms.astype(dtype))
    nothing = numpy.zeros(0, dtype)
    run(dtype, "_pdist_backward", nothing, rows[:1], p, nothing)


@pytest.mark.parametrize("dtype", FLOATS)
def test_histograms(dtype: Any) -> None:
    values = random.normal(size=(20, 7)).astype(dtype)
    for bins, low, high in ((10, 0, 0), (3, -1, 1), (5, 2, 2), (1, 0.5, 0.7)):
        run(dtype, "histc", values, bins, low, high)
    run(dtype, "histc", numpy.full(9, 3, dtype), 4, 0, 0)
