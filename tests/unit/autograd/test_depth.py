"""Histories of a hundred thousand operations: nothing recurses, and each is visited once."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import thunk

DEPTH = 100_000


def chain(x: Any, depth: int) -> Any:
    y = x
    for _ in range(depth):
        y = y + 1
    return y


@pytest.mark.slow
def test_a_deep_chain_is_differentiated_and_freed() -> None:
    x = thunk.zeros(1, requires_grad=True)
    y = chain(x, DEPTH)
    y.sum().backward(retain_graph=True)
    assert x.grad.item() == 1
    assert y.item() == DEPTH
    # What backward has not taken apart is freed in one piece, whatever its depth.
    end = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert end() is None


def test_stacked_diamonds_take_linear_time() -> None:
    """With one visit a path instead of one a node, sixty diamonds would never end."""
    x = thunk.ones(1, dtype=thunk.float64, requires_grad=True)
    y = x
    for _ in range(60):
        y = (y + y) / 2 + (y - y)
    (first,) = thunk.autograd.grad(y.sum(), x, create_graph=True)
    assert first.item() == 1
    count = [0]
    z = x
    for _ in range(60):
        z = z * 0.5 + z * 0.5
        z.register_hook(lambda grad: count.__setitem__(0, count[0] + 1))
    z.sum().backward()
    assert count[0] == 60


def test_writes_in_place_make_a_deep_chain_too() -> None:
    x = thunk.zeros(4, requires_grad=True)
    y = x * 1
    for number in range(1_000):
        y[number % 4] += 1
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1]
    assert y.tolist() == [250, 250, 250, 250]
