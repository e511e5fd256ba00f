"""Execution gives account of itself: why it ran, why it compiled, what fell back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.torch.lazy.costs import counted, lazily

import thunk
from thunk.lazy import metrics


@pytest.fixture(autouse=True)
def lazy_execution() -> Any:
    with lazily():
        yield


def test_execution_can_be_forbidden() -> None:
    x = thunk.ones(2)
    with thunk.lazy.forbid_execution():
        y = x * 2
        with pytest.raises(RuntimeError, match="test_accounts"):
            y.tolist()
    assert y.tolist() == [2.0, 2.0]


def test_compiling_can_be_forbidden() -> None:
    x = thunk.ones(5, 3)
    for _ in range(3):
        (x * 2 - 1).tolist()
    with thunk.lazy.forbid_compile():
        (x * 2 - 1).tolist()
        with pytest.raises(RuntimeError, match="test_accounts"):
            for _ in range(3):
                (x * 2 - 1).sinh().cosh().tanh().tolist()


def test_an_account_names_cause_and_line() -> None:
    x = thunk.ones(3)
    with thunk.lazy.explain() as account:
        (x + 1).tolist()
    text = str(account)
    assert "test_accounts.py" in text and "tolist" in text


def test_an_account_of_a_miss_names_the_first_difference() -> None:
    x = thunk.ones(3)
    for _ in range(3):
        (x + 1).exp().tolist()
    with thunk.lazy.explain() as account:
        for _ in range(3):
            (x + 1).sin().tolist()
    assert "sin" in str(account)


def test_fallbacks_are_counted_and_listed() -> None:
    metrics.reset()
    x = thunk.tensor([1.0, 0.0])
    x.masked_select(x > 0).tolist()
    assert metrics.counter_value("aten::masked_select") == 1
    assert "aten::masked_select" in thunk.lazy.fallback_ops()


def test_the_tutorials_branch_on_data_just_works() -> None:
    """`add_two_maybe` of PyTorch's tutorial on lazy tensors."""

    def add_two_maybe(tensor: Any, maybe: Any) -> Any:
        return tensor + 2 if maybe else tensor

    x = thunk.ones(2)
    for flag in (1, 0, 1):
        assert add_two_maybe(x, thunk.tensor(flag)).tolist() == [1.0 + 2 * flag] * 2


def test_steps_and_tensors_are_counted() -> None:
    metrics.reset()
    (thunk.ones(2) * 2).sum()
    thunk.lazy.mark_step()
    assert metrics.counter_value("MarkStep") == 1
    with counted() as costs:
        thunk.lazy.mark_step()
    assert costs.runs == 0
