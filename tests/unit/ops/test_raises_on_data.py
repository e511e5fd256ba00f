"""Operators that fail for some values say so, and raise the exception that users catch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import thunk
from thunk.backends.reference.kernel import rules
from thunk.lazy.eager import eager
from thunk.ops.registry import find_op

SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
CASES: list[tuple[str, type[Exception], Callable[[], Any]]] = [
    ("linalg_cholesky_ex", thunk.linalg.LinAlgError,
     lambda: thunk.linalg.cholesky(-thunk.eye(2))),
    ("linalg_inv_ex", thunk.linalg.LinAlgError, lambda: thunk.linalg.inv(thunk.tensor(SINGULAR))),
    ("gather", RuntimeError, lambda: thunk.ones(2).gather(0, thunk.tensor([2]))),
    ("scatter.src", RuntimeError,
     lambda: thunk.ones(2).scatter(0, thunk.tensor([2]), thunk.ones(1))),
    ("_index", IndexError, lambda: thunk.ones(2)[thunk.tensor([2])]),
    ("index_select", IndexError, lambda: thunk.ones(2).index_select(0, thunk.tensor([-1]))),
    ("embedding", IndexError,
     lambda: thunk.nn.functional.embedding(thunk.tensor([3]), thunk.ones(3, 2))),
    ("floor_divide", RuntimeError, lambda: thunk.tensor([1]) // thunk.tensor([0])),
    ("nll_loss_forward", IndexError,
     lambda: thunk.nn.functional.nll_loss(thunk.ones(1, 3), thunk.tensor([3]))),
    ("binary_cross_entropy", RuntimeError,
     lambda: thunk.nn.functional.binary_cross_entropy(thunk.tensor([2.0]), thunk.tensor([1.0]))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "call"), CASES, ids=[case[0] for case in CASES])
def test_values_that_are_refused(name: str, kind: type[Exception], call: Callable[[], Any]) -> None:
    with pytest.raises(kind):
        call().tolist()  # recorded calls fail when somebody looks
    op = find_op(f"aten::{name}")
    assert op is not None
    assert op.raises_on_data


def test_a_rule_that_raises_without_saying_so_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests run with results verified, so every test of the suite looks for such rules."""

    def refuse(spec: Any, *args: Any) -> Any:
        raise RuntimeError("not that value")

    for name in ("neg", "gather"):
        monkeypatch.setitem(rules, f"aten::{name}", refuse)
    with eager():
        with pytest.raises(AssertionError, match=r"aten::neg: expected raises_on_data to name"):
            thunk.neg(thunk.ones(2))
        with pytest.raises(RuntimeError, match="not that value"):
            thunk.ones(2).gather(0, thunk.tensor([0]))


@pytest.mark.parametrize(
    "call",
    [
        thunk.nonzero, thunk.unique, thunk.unique_consecutive, thunk.repeat_interleave,
        thunk.bincount, lambda x: x[x > 0], lambda x: x.masked_select(x > 0),
    ],
)  # fmt: skip
def test_shapes_that_depend_on_values_are_not_made_up(call: Callable[[Any], Any]) -> None:
    with pytest.raises(NotImplementedError, match="expected tensors with values"):
        call(thunk.ones(3, device="meta", dtype=thunk.int64))


def test_shapes_that_are_told_are_believed() -> None:
    x = thunk.ones(3, device="meta")
    assert thunk.repeat_interleave(x, x.long(), output_size=4).shape == (4,)
