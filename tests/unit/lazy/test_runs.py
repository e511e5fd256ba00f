"""Cuts that nobody waits for: results that fill later, failures, interrupts, memory taken over."""

from __future__ import annotations

import gc
import os
import signal
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import thunk
from thunk.base.config import config
from thunk.base.errors import where_recorded
from thunk.lazy import compiled, cut
from thunk.lazy.eager import execution
from thunk.lazy.run import inflight
from thunk.lazy.step import mark_step, wait_device_ops
from thunk.lazy.trace import traces
from thunk.runtime.launch import DependentFailure


@pytest.fixture(autouse=True)
def lazily() -> Iterator[None]:
    """Compiled from the first run on, as a second step is."""
    before = config.interpret_first
    config.interpret_first = False
    try:
        with execution(True):
            yield
    finally:
        traces.current.materialise()
        try:
            inflight.wait()
        finally:
            config.interpret_first = before


def memory_of(tensor: Any) -> int:
    return int(tensor._storage._data.ctypes.data)


def test_a_launched_cut_gives_its_results_without_being_waited_for() -> None:
    x = thunk.ones(300, 300)
    mark_step(wait=True)
    y = x
    for _ in range(20):
        y = (y @ x) / 300
    mark_step()
    assert y._node is None
    z = y + 1  # reads memory that may not be filled yet
    assert float(z[0, 0]) == pytest.approx(2.0)
    assert float(y[7, 9]) == pytest.approx(1.0)


def test_an_optimizers_step_is_a_boundary_and_an_inner_one_is_not() -> None:
    outer: list[bool] = []

    class Outer(thunk.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            self.inner.step()
            outer.append(inner_weight._node is not None)
            return super().step(closure)

    weight, inner_weight = (thunk.nn.Parameter(thunk.ones(3)) for _ in range(2))
    optimizer = Outer([weight], lr=0.5)
    optimizer.inner = thunk.optim.SGD([inner_weight], lr=0.5)  # type: ignore[attr-defined]
    for _ in range(2):
        optimizer.zero_grad()
        optimizer.inner.zero_grad()  # type: ignore[attr-defined]
        (weight * 2 + inner_weight).sum().backward()
        optimizer.step()
        assert weight._node is None and inner_weight._node is None
    assert outer == [True, True]
    assert weight.tolist() == [-1.0] * 3 and inner_weight.tolist() == [0.0] * 3


def test_parameters_are_updated_where_they_are() -> None:
    weight = thunk.nn.Parameter(thunk.ones(1000))
    optimizer = thunk.optim.Adam([weight], lr=0.1)
    addresses = set()
    for _ in range(6):
        optimizer.zero_grad()
        weight.square().sum().backward()
        optimizer.step()
        state = optimizer.state[weight]
        addresses.add(tuple(map(memory_of, (weight, state["exp_avg"], state["exp_avg_sq"]))))
    wait_device_ops()
    # The first step makes the moments, the second all three as outputs of programs.
    assert len(addresses) <= 2
    with execution(False):
        same = thunk.nn.Parameter(thunk.ones(1000))
        again = thunk.optim.Adam([same], lr=0.1)
        for _ in range(6):
            again.zero_grad()
            same.square().sum().backward()
            again.step()
    assert thunk.allclose(weight.detach(), same.detach(), atol=1e-6)


def test_memory_that_others_see_is_never_taken_over() -> None:
    x = thunk.zeros(1000)
    mark_step(wait=True)
    for _ in range(3):
        x.add_(1)
        mark_step()
    seen = x.numpy()
    x.add_(1)
    mark_step()
    assert seen[0] == 4 and x[5].item() == 4
    address = seen.ctypes.data
    x.add_(1)
    mark_step(wait=True)
    assert x.numpy().ctypes.data == address and seen[999] == 5


def test_old_values_survive_memory_that_is_taken_over() -> None:
    for _ in range(3):
        x = thunk.arange(1000.0)
        mark_step(wait=True)
        before, twice = x.clone(), x * 2
        x.add_(1)
        after = x.clone()
        mark_step()
        x.mul_(0)
        after.sub_(1)
        mark_step()
        assert before[5].item() == 5 and twice[5].item() == 10
        assert x.sum().item() == 0 and after[5].item() == 5


def test_swapped_tensors_are_swapped() -> None:
    a, b = thunk.ones(5000), thunk.full((5000,), 2.0)
    mark_step(wait=True)
    for expected in ((2, 1), (1, 2), (2, 1)):
        kept = a.clone()
        a.copy_(b)
        b.copy_(kept)
        del kept
        mark_step()
        assert (a[3].item(), b[4000].item()) == expected


def test_a_write_that_happens_now_waits_for_runs_that_read() -> None:
    x = thunk.ones(400, 400)
    mark_step(wait=True)
    y = x
    for _ in range(30):
        y = (y @ x) / 400
    mark_step()
    x.numpy()[...] = 7  # the run read the old values, whenever it reads them
    assert float(y.min()) == float(y.max()) == pytest.approx(1.0)


def rows(table: Any, indices: list[int]) -> Any:
    """Rows at indices that nobody knows before they are computed."""
    return thunk.nn.functional.embedding(thunk.tensor(indices) + 0, table)


def test_a_failure_is_told_once_with_its_line_and_the_next_step_runs() -> None:
    table = thunk.nn.Parameter(thunk.ones(10, 4))
    other = thunk.nn.Parameter(thunk.ones(4))
    optimizer = thunk.optim.Adam([table, other], lr=0.1)

    def step(indices: list[int]) -> Any:
        optimizer.zero_grad()
        loss = (rows(table, indices) * other).sum()
        loss.backward()
        optimizer.step()
        return loss

    step([1, 2])
    good = step([1, 3])
    reference = table.detach().clone(), other.detach().clone()
    mark_step(wait=True)
    expected = reference[0].tolist(), reference[1].tolist()
    bad = step([1, 99])
    unrelated = thunk.ones(3) + 1
    with pytest.raises(IndexError) as caught:
        mark_step(wait=True)
    assert "test_runs.py" in where_recorded(caught.value)
    assert unrelated.tolist() == [2, 2, 2]
    assert (table.tolist(), other.tolist()) == expected  # as if the step had not been taken
    with pytest.raises(DependentFailure):
        bad.item()
    assert good.item() > 0
    assert step([4, 5]).item() > 0
    assert table.tolist() != expected[0]
    wait_device_ops()


def test_runs_behind_a_failed_one_fail_with_it_and_all_are_taken_back() -> None:
    x, good = thunk.zeros(10), thunk.zeros(10)
    mark_step(wait=True)
    x.add_((rows(thunk.ones(3, 10), [77]) @ thunk.ones(10, 10))[0])
    mark_step()
    y = x * 2
    good.add_(1)
    mark_step()
    x.add_(1)
    mark_step()
    with pytest.raises(IndexError):
        wait_device_ops()
    wait_device_ops()
    assert x.tolist() == [0.0] * 10
    assert good.tolist() == [1.0] * 10
    with pytest.raises(DependentFailure) as caught:
        y.tolist()
    assert isinstance(caught.value.__cause__, IndexError)
    x.add_(5)
    assert x.tolist() == [5.0] * 10


def test_who_never_waits_is_told_of_a_failure_too() -> None:
    x = thunk.zeros(10)
    mark_step(wait=True)
    x.add_((rows(thunk.ones(3, 10), [77]) @ thunk.ones(10, 10))[0])
    with pytest.raises(IndexError):
        for _ in range(200):
            mark_step()
            x.add_(1)
    assert len(inflight.runs) <= 1
    assert x.tolist() == [0.0] * 10  # what was queued behind the failure was taken back with it


def test_memory_that_a_failing_operation_wrote_to_is_spoilt() -> None:
    x = thunk.zeros(10)
    mark_step(wait=True)
    x.add_(rows(thunk.ones(3, 10), [77])[0])  # one kernel
    mark_step()
    x.add_(1)
    mark_step()
    with pytest.raises(IndexError):
        wait_device_ops()
    for _ in range(2):
        with pytest.raises(DependentFailure):
            x.tolist()


def test_a_value_that_fails_is_raised_where_it_is_needed() -> None:
    fine = thunk.ones(3) * 3
    bad = thunk.nn.functional.embedding(thunk.tensor([9]) + 0, thunk.ones(3, 2))
    with pytest.raises(IndexError) as caught:
        bad.tolist()
    assert "test_runs.py" in where_recorded(caught.value)
    assert fine.tolist() == [3, 3, 3]
    with pytest.raises(DependentFailure):
        bad.tolist()


def test_a_compiler_that_fails_is_told_and_results_are_computed_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = thunk.ones(3)
    mark_step(wait=True)

    def fail(*_: Any) -> Any:
        raise MemoryError("no room for code")

    y = x * 41.5 + thunk.ones(3).exp()
    monkeypatch.setattr(compiled, "backend_named", fail)
    mark_step()
    monkeypatch.undo()
    with pytest.raises(MemoryError, match="no room"):
        wait_device_ops()
    assert y[0].item() == pytest.approx(44.218281828)


def test_a_walk_without_a_plan_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    x = thunk.ones(3)
    mark_step(wait=True)
    x.add_(1)
    y = x * 2
    z = y[1:]

    def fail(*_: Any) -> Any:
        raise KeyError("no such node")

    with monkeypatch.context() as patch:
        patch.setattr(cut, "Plan", fail)
        with pytest.raises(KeyError):
            y.tolist()
    for lost in (y, z):
        with pytest.raises(DependentFailure, match="no such node"):
            lost.tolist()
    assert x.tolist() == [1, 1, 1]
    assert (x + 1).tolist() == [2, 2, 2]


def test_an_interrupt_before_the_start_leaves_everything_pending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = thunk.ones(3)
    mark_step(wait=True)
    x.add_(1)
    y = x * 2

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compiled.Computation, "prepare", interrupted)
        patch.setattr(compiled.Computation, "run", interrupted)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                y.tolist()
            with pytest.raises(KeyboardInterrupt):
                mark_step()
    assert y._node is not None
    assert y.tolist() == [4, 4, 4] and x.tolist() == [2, 2, 2]


def test_an_interrupt_while_a_value_is_waited_for_leaves_it_readable() -> None:
    x = thunk.ones(700, 700)
    mark_step(wait=True)
    y = x
    for _ in range(200):
        y = (y @ x) / 700
    mark_step()
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        y.tolist()
        timer.join()
        for _ in range(10_000_000):
            pass
    except KeyboardInterrupt:
        pass
    timer.join()
    assert float(y[0, 0]) == pytest.approx(1.0, rel=1e-3)


def test_what_a_queue_holds_is_let_go() -> None:
    x = thunk.zeros(10)
    losses = []
    for _ in range(50):
        x = x + 1
        losses.append(x.sum())
        mark_step()
    wait_device_ops()
    x.tolist()
    assert [each.item() for each in losses[::7]] == [10.0 * each for each in range(1, 51, 7)]
    inflight.sweep()
    assert not inflight.runs


def test_a_child_process_finds_everything_computed() -> None:
    x = thunk.ones(200, 200)
    mark_step(wait=True)
    y = (x @ x) / 200
    mark_step()
    z = y + 1
    child = os.fork()
    if not child:
        status = 1
        try:
            status = 0 if z[0, 0].item() == 2 and (z + 1)[1, 1].item() == 3 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert z[0, 0].item() == 2


def test_numpy_sees_what_a_run_writes() -> None:
    x = thunk.zeros(5)
    array = x.numpy()
    x += 1
    mark_step()
    numpy.testing.assert_array_equal(array, numpy.ones(5))


def test_a_leaf_does_not_hold_the_walk_that_made_it() -> None:
    x = thunk.zeros(1, requires_grad=True)
    y = x
    for _ in range(5):
        y = y + 1
    y.sum().backward(retain_graph=True)
    assert x.grad is not None
    assert x.grad.item() == 1 and y.item() == 5
    end = weakref.ref(y.grad_fn)
    assert end() is not None
    del y
    gc.collect()
    assert end() is None
