"""Public callables are real functions with names, documents and one way to be called."""

from __future__ import annotations

import pickle
import types

import pytest

import thunk


def test_functions_say_what_they_are() -> None:
    assert isinstance(thunk.add, types.FunctionType)
    assert (thunk.add.__name__, thunk.add.__module__) == ("add", "thunk")
    assert thunk.add.__doc__.startswith("add(input, other, *, alpha=1, out=None) -> Tensor")
    assert thunk.zeros.__text_signature__.endswith("out=None, requires_grad=False)")
    assert thunk.Tensor.add.__qualname__ == "Tensor.add"
    assert pickle.loads(pickle.dumps(thunk.add)) is thunk.add


def test_a_method_is_a_function_of_the_class() -> None:
    assert thunk.Tensor.add(thunk.ones(2), 1).tolist() == [2.0, 2.0]


def test_users_reach_only_the_overloads_that_are_theirs() -> None:
    thunk.manual_seed(0)
    # The functional form of normal_ takes a tensor and two numbers as well.
    assert abs(thunk.normal(thunk.full((1000,), 50.0), 2.0).mean().item() - 50.0) < 1.0
    with pytest.raises(TypeError):
        thunk.normal()


def test_factories_ask_for_gradients() -> None:
    assert thunk.ones(2, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError):
        thunk.ones(2, dtype=thunk.int64, requires_grad=True)
    with pytest.raises(TypeError):
        thunk.add(thunk.ones(1), 1, requires_grad=True)


def test_operators_leave_strangers_to_python() -> None:
    class Stranger:
        def __radd__(self, other: object) -> str:
            return "mine"

    assert thunk.ones(2) + Stranger() == "mine"
    with pytest.raises(TypeError):
        thunk.ones(2) + "a"
    assert (2 - thunk.ones(2)).tolist() == [1.0, 1.0]


def test_all_lists_what_exists() -> None:
    missing = [name for name in thunk.__all__ if not hasattr(thunk, name)]
    assert missing == []
    assert len(set(thunk.__all__)) == len(thunk.__all__)
