"""Step closures: order, arguments, threads, bounds and exceptions."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from thunk.lazy.closure import (
    AsyncClosureHandler,
    add_step_closure,
    drain_step_closures,
    run_step_closures,
)
from thunk.lazy.device_context import get_device_context


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    def forget() -> None:
        context = get_device_context()
        context.handlers.clear()
        for run_async in (False, True):
            context.take_closures(run_async)

    forget()
    yield
    forget()


def test_closures_run_once_in_their_order_with_their_arguments() -> None:
    seen: list[Any] = []
    add_step_closure(lambda *values: seen.append(values), args=(1, "two"))
    values = [3]
    add_step_closure(lambda *values: seen.append(values), args=values)
    values.append(4)  # arguments are those of the call
    assert seen == []
    assert run_step_closures() is get_device_context()
    assert seen == [(1, "two"), (3,)]
    run_step_closures()
    assert len(seen) == 2


def test_a_closure_added_by_a_closure_runs_with_the_next_step() -> None:
    seen: list[int] = []

    def again() -> None:
        seen.append(1)
        add_step_closure(lambda: seen.append(2))

    add_step_closure(again)
    run_step_closures()
    assert seen == [1]
    run_step_closures()
    assert seen == [1, 2]


def test_an_exception_reaches_the_caller_and_the_rest_runs_next_time() -> None:
    seen: list[int] = []

    def fail() -> None:
        raise ValueError("closure")

    add_step_closure(lambda: seen.append(1))
    add_step_closure(fail)
    add_step_closure(lambda: seen.append(3))
    with pytest.raises(ValueError, match="closure"):
        run_step_closures()
    assert seen == [1]
    add_step_closure(lambda: seen.append(4))
    run_step_closures()
    assert seen == [1, 3, 4]


def test_asynchronous_closures_run_elsewhere_in_their_order() -> None:
    gate = threading.Event()
    seen: list[Any] = []

    def first() -> None:
        gate.wait()
        seen.append(threading.get_ident())

    add_step_closure(first, run_async=True)
    for number in range(50):
        add_step_closure(seen.append, args=(number,), run_async=True)
    add_step_closure(lambda: seen.append("here"))
    run_step_closures()
    assert seen == ["here"]  # the others wait for the gate, and this line runs
    gate.set()
    drain_step_closures()
    assert seen[1] != threading.get_ident() and seen[2:] == list(range(50))


def test_the_thread_ends_with_the_work_and_comes_back() -> None:
    handler = AsyncClosureHandler()
    for _ in range(3):
        ran: list[int] = []
        handler.run(lambda ran=ran: ran.append(1))  # type: ignore[misc]
        handler.drain()
        assert ran == [1] and handler._thread is None


def test_the_queue_is_bounded() -> None:
    handler = AsyncClosureHandler(max_queue_size=2)
    gate, running = threading.Event(), threading.Event()
    seen: list[Any] = []

    def first() -> None:
        running.set()
        gate.wait()

    handler.run(first)
    running.wait()
    handler([lambda: seen.append(1), lambda: seen.append(2)])  # the queue is full now

    def add() -> None:
        handler.run(lambda: seen.append(3))
        seen.append("added")

    adder = threading.Thread(target=add)
    adder.start()
    while not handler._changed._waiters:  # type: ignore[attr-defined]
        continue
    assert seen == [] and len(handler._waiting) == 2
    gate.set()
    adder.join()
    handler.drain()
    assert [each for each in seen if each != "added"] == [1, 2, 3]


def test_an_asynchronous_exception_is_raised_by_the_next_call() -> None:
    seen: list[int] = []

    def fail() -> None:
        raise ValueError("elsewhere")

    add_step_closure(fail, run_async=True)
    add_step_closure(lambda: seen.append(1), run_async=True)
    run_step_closures()
    handler = get_device_context().handlers[True]
    thread = handler._thread
    if thread is not None:
        thread.join()
    assert seen == []  # closures behind a failure wait until somebody was told
    add_step_closure(lambda: seen.append(2), run_async=True)
    add_step_closure(lambda: seen.append(0))
    with pytest.raises(RuntimeError, match="one that ran before") as caught:
        run_step_closures()
    assert isinstance(caught.value.__cause__, ValueError)
    assert seen == [0]  # the closures of this thread ran all the same
    drain_step_closures()
    assert seen == [0, 1, 2]


def test_a_full_queue_behind_a_failure_does_not_hold_up_for_ever() -> None:
    handler = AsyncClosureHandler(max_queue_size=1)
    gate = threading.Event()

    def fail() -> None:
        gate.wait()
        raise ValueError

    handler.run(fail)
    opener = threading.Thread(target=gate.set)
    opener.start()
    seen: list[int] = []
    try:
        handler([lambda number=number: seen.append(number) for number in range(4)])  # type: ignore[misc]
    except RuntimeError as error:
        assert isinstance(error.__cause__, ValueError)
        handler.drain()
    else:  # the failure came after the last was queued
        with pytest.raises(ValueError):
            handler.drain()
        handler.drain()
    opener.join()
    assert seen == [0, 1, 2, 3]


def test_draining_tells_of_a_failure() -> None:
    def fail() -> None:
        raise ValueError("told")

    add_step_closure(fail, run_async=True)
    run_step_closures()
    with pytest.raises(ValueError, match="told"):
        drain_step_closures()
    drain_step_closures()


def test_closures_finish_before_the_process_ends() -> None:
    script = (
        "from thunk.lazy.closure import add_step_closure, run_step_closures\n"
        "for n in range(3): add_step_closure(print, args=('ran', n), run_async=True)\n"
        "run_step_closures()\n"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("ran 0\nran 1\nran 2\n", "")


def test_a_failure_that_no_step_followed_is_said_at_the_end() -> None:
    script = (
        "from thunk.lazy.closure import add_step_closure, run_step_closures\n"
        "add_step_closure(lambda: 1 // 0, run_async=True)\n"
        "run_step_closures()\n"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "no step followed: ZeroDivisionError" in found.stderr


def test_a_queue_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least 1, got 0"):
        AsyncClosureHandler(max_queue_size=0)
