"""Accounts of executions and compiles, and forbidding them."""

from __future__ import annotations

import threading

import pytest

from thunk.lazy import metrics
from thunk.lazy.watch import (
    COMPILE,
    EXECUTION,
    Event,
    Explanation,
    ForbiddenError,
    explain,
    fallback_ops,
    forbid_compile,
    forbid_execution,
    note,
    watched,
)

ITEM = Event(EXECUTION, "item()", "train.py:3", 12, hit=True)
NEW = Event(COMPILE, "item()", "train.py:3", 12, difference="add.Tensor at train.py:2 is mul")


def test_a_block_knows_what_happened_in_it_and_nothing_else() -> None:
    note(ITEM)
    with explain() as outer:
        note(NEW)
        with explain() as inner:
            note(ITEM)
        note(ITEM)
    note(NEW)
    assert outer.events == [NEW, ITEM, ITEM] and inner.events == [ITEM]
    assert (outer.executions, outer.compiles) == ([ITEM, ITEM], [NEW])
    assert not watched()


def test_an_account_reads_as_text() -> None:
    with explain() as account:
        note(ITEM)
        note(NEW)
    assert str(account) == (
        "1. execution of 12 operations: item() at train.py:3 (compiled before)\n"
        "2. compile of 12 operations: item() at train.py:3\n"
        "    differs: add.Tensor at train.py:2 is mul"
    )
    assert str(Explanation()) == "nothing was executed or compiled"


def test_a_difference_is_found_only_for_who_asks() -> None:
    asked: list[int] = []

    def difference() -> str:
        asked.append(1)
        return "shape of input 0"

    with explain() as account:
        note(NEW._replace(difference=difference))
    assert asked == []
    assert str(account).endswith("differs: shape of input 0") and asked == [1]


def test_what_is_forbidden_raises_and_says_where() -> None:
    with forbid_execution():
        note(NEW)
        with pytest.raises(ForbiddenError, match=r"got execution .*item\(\) at train.py:3"):
            note(ITEM)
        with forbid_execution():
            pass
        with pytest.raises(ForbiddenError):  # the outer block still forbids
            note(ITEM)
    note(ITEM)
    with forbid_compile():
        note(ITEM)
        with pytest.raises(ForbiddenError, match="differs: add"):
            note(NEW)
    note(NEW)


def test_what_raised_is_in_no_account() -> None:
    with explain() as account, forbid_execution(), pytest.raises(ForbiddenError):
        note(ITEM)
    assert account.events == []


def test_a_block_that_raises_forbids_no_longer() -> None:
    with pytest.raises(KeyError), forbid_execution(), explain():
        raise KeyError
    note(ITEM)
    assert not watched()


def test_other_threads_are_left_alone() -> None:
    seen: list[BaseException] = []

    def other() -> None:
        try:
            note(ITEM)
        except BaseException as error:
            seen.append(error)

    with forbid_execution(), explain() as account:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [] and account.events == []


def test_fallbacks_are_listed_whatever_their_namespace() -> None:
    metrics.reset()
    for name in ("aten::i0", "custom::roll", "MarkStep"):
        metrics.count(name)
    assert fallback_ops() == ["aten::i0", "custom::roll"]
    metrics.reset()
    assert fallback_ops() == []
