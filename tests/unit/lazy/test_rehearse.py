"""What is known to fail fails at the call; what is not known yet fails when somebody looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import thunk
from thunk.base.errors import where_recorded
from thunk.lazy.eager import execution

KNOWN: list[tuple[str, type[Exception], Callable[[Any], Any]]] = [
    ("index", IndexError, lambda x: x[thunk.tensor([0, 5])]),
    ("list", IndexError, lambda x: x[[0, 5]]),
    ("write", IndexError, lambda x: x.__setitem__(thunk.tensor([5]), 1.0)),
    ("gather", RuntimeError, lambda x: x.gather(0, thunk.tensor([3]))),
    ("embedding", IndexError,
     lambda x: thunk.nn.functional.embedding(thunk.tensor([3]), x.view(3, 1))),
    ("target", IndexError,
     lambda x: thunk.nn.functional.cross_entropy(x.view(1, 3), thunk.tensor([3]))),
    ("division", RuntimeError, lambda x: thunk.tensor([1]) // thunk.tensor([0])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "use"), KNOWN, ids=[case[0] for case in KNOWN])
def test_known_values_are_refused_at_the_call(
    name: str, kind: type[Exception], use: Callable[[Any], Any]
) -> None:
    with execution(lazy=True):
        pending = thunk.arange(3.0) * 2
        for _ in range(2):
            with pytest.raises(kind), thunk.lazy.forbid_execution():
                use(pending)
        assert pending.tolist() == [0.0, 2.0, 4.0]


def test_a_zero_that_stands_for_a_pending_divisor_is_no_error() -> None:
    with execution(lazy=True):
        assert (thunk.tensor([7]) // (thunk.tensor([1]) + 1)).tolist() == [3]


def test_unknown_values_are_refused_when_somebody_looks() -> None:
    with execution(lazy=True):
        row = thunk.arange(3.0)[thunk.tensor([2]) + 1]
        with pytest.raises(IndexError) as caught:
            row.tolist()
    assert "test_rehearse.py" in where_recorded(caught.value)


def numbers(value: float) -> Any:
    return thunk.ones(2).clamp(value, 5.0) * 2


def test_a_number_that_does_not_fit_is_refused_on_a_path_that_is_known() -> None:
    with execution(lazy=True):
        for _ in range(3):
            assert numbers(2.0).tolist() == [4.0, 4.0]
        bad = numbers(1e300)
        with pytest.raises(RuntimeError, match="clamp: expected a value that fits") as caught:
            bad.tolist()
        assert "test_rehearse.py" in where_recorded(caught.value)
        assert numbers(3.0).tolist() == [6.0, 6.0]


def test_a_float_for_an_integer_is_refused_at_each_call() -> None:
    with execution(lazy=True):
        whole = thunk.zeros(2, dtype=thunk.int64)
        for value in (3.0, 4.0, 5.0):
            whole.fill_(value)
            assert whole.tolist() == [value, value]
        with pytest.raises(RuntimeError, match="without overflow"):
            whole.fill_(1e30)
        assert whole.tolist() == [5, 5]


@pytest.mark.parametrize("write", [False, True])
def test_indices_in_brackets_are_refused_on_paths_that_are_known(write: bool) -> None:
    def use(indices: list[int]) -> Any:
        x = thunk.arange(6.0).view(2, 3)
        index = thunk.tensor(indices)
        if write:
            x[:, index] = 7.0
        return x[:, index]

    with execution(lazy=True):
        for _ in range(3):
            assert use([0, -3]).shape == (2, 2)
        for bad in ([0, 3], [-4, 1]):
            with pytest.raises(IndexError), thunk.lazy.forbid_execution():
                use(bad)
        assert use([2, 1])[0].tolist() == ([7.0, 7.0] if write else [2.0, 1.0])
