"""A write from the very place that is written is no overlap; from part of it, it is."""

import pytest

import thunk


def test_an_item_may_be_changed_in_place() -> None:
    pictures = thunk.zeros(3, 1, 2, 2)
    pictures[1] += 2
    pictures[2, 0] *= 3
    assert pictures.sum().item() == 8.0
    rows = thunk.arange(6.0).reshape(1, 6)
    rows[:, 1:] = rows[:, 1:]
    with pytest.raises(RuntimeError, match="single memory location"):
        rows[:, 1:] += rows[:, :-1]
