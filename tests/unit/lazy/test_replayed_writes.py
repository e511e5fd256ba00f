"""What is done again on a walked path relies only on what holds now, also on whose memory it is."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import thunk
from thunk.lazy.eager import execution


def written(shown: bool) -> list[float]:
    """A result after a write, looked at through itself or through what shares its memory."""
    result = thunk.ones(3) * 2
    alias = result.data if shown else result
    result.add_(1)
    found: list[float] = alias.tolist()
    return found


def test_a_write_reaches_an_alias_that_the_path_does_not_tell_of() -> None:
    with execution(True):
        for shown in (False, False, True, False, True):
            assert written(shown) == [3.0, 3.0, 3.0]


VALUES = numpy.array([1.0, 2.0, 3.0], "f4")
# The same path, whatever the memory: of the framework alone, of NumPy too, or of no tensor yet.
MAKERS = {
    "own": lambda: thunk.tensor(VALUES),
    "numpy": lambda: thunk.from_numpy(VALUES.copy()),
    "computed": lambda: thunk.tensor(VALUES) * 1,
}


def with_a_cut(first: Any, second: Any) -> tuple[float, list[float]]:
    """A loss that is read before its backward pass, which needs both factors then."""
    weight = thunk.tensor(VALUES, requires_grad=True)
    loss = (weight * first * second).sum()
    value = loss.item()
    loss.backward()
    return value, weight.grad.tolist()


@pytest.mark.parametrize("start", MAKERS)
def test_what_a_cut_keeps_for_backward_may_belong_to_others(start: str) -> None:
    with execution(True):
        before = with_a_cut(MAKERS[start](), MAKERS[start]())
        assert before == (36.0, [1.0, 4.0, 9.0])
        for first, second in itertools.product(MAKERS.values(), repeat=2):
            for _ in range(2):
                assert with_a_cut(first(), second()) == before


def with_an_alias(batch: Any, watched: bool) -> list[float]:
    """An optimizer's step while somebody looks into the parameter."""
    weight = thunk.nn.Parameter(thunk.tensor(VALUES))
    optimizer = thunk.optim.SGD([weight], lr=0.5)
    alias = weight.detach() if watched else None
    loss = (weight * batch).sum() + (0 if alias is None else alias.sum() * 0)
    loss.backward()
    optimizer.step()
    found: list[float] = weight.tolist()
    assert alias is None or alias.tolist() == found
    return found


def test_an_update_finds_its_aliases_wherever_the_walk_holds_them() -> None:
    with execution(True):
        for name, watched in itertools.product([*MAKERS, *reversed(MAKERS)], (True, False, True)):
            assert with_an_alias(MAKERS[name](), watched) == [0.5, 1.0, 1.5]


def test_a_remembered_backward_pass_ends_at_leaves_only() -> None:
    """The same path may begin at a leaf, or at what was computed before a cut, or eagerly."""

    def through(value: Any) -> None:
        value.exp().sum().backward()

    def cut(weight: Any) -> Any:
        doubled = weight * 2
        doubled.tolist()
        return doubled

    def eager(weight: Any) -> Any:
        with thunk.eager():
            return weight * 2

    def hooked(weight: Any) -> Any:
        with thunk.autograd.graph.saved_tensors_hooks(lambda value: value, lambda value: value):
            return weight * 2

    with execution(True):
        for before in (lambda weight: weight, cut, eager, hooked) * 3:
            weight = thunk.tensor([0.5, 1.0], requires_grad=True)
            value = before(weight)
            through(value)
            factor = 1 if value is weight else 2
            wanted = factor * numpy.exp(factor * numpy.array([0.5, 1.0]))
            numpy.testing.assert_allclose(weight.grad.numpy(), wanted, rtol=1e-6)
