"""Device locks that carry exceptions, several of them in order, and seeds of random numbers."""

from __future__ import annotations

import os
import threading

import pytest

from thunk.lazy import metrics
from thunk.lazy.device_context import (
    DeviceContext,
    DeviceLock,
    device_barrier,
    device_contexts,
    device_name,
    get_device_context,
    get_rng_seed,
    get_running_seed,
    locked,
    set_rng_seed,
)


def test_a_device_has_one_context_whatever_its_spelling() -> None:
    assert [device_name(each) for each in (None, "", "lazy", "lazy:0")] == ["lazy:0"] * 4
    assert get_device_context() is get_device_context("lazy") is get_device_context("lazy:0")
    assert get_device_context("lazy:1") is not get_device_context()
    assert {"lazy:0", "lazy:1"} <= {each.device for each in device_contexts()}


def test_the_next_holder_gets_the_exception_once() -> None:
    lock = DeviceLock()
    lock.acquire()
    lock.release(ValueError("run failed"))
    with pytest.raises(ValueError, match="run failed"):
        lock.acquire()
    assert not lock.held  # who was told does not hold it
    lock.acquire()
    lock.release()
    lock.barrier()


def test_of_two_exceptions_the_first_is_carried() -> None:
    lock = DeviceLock()
    lock.acquire()
    lock.leave(ValueError("first"))
    lock.release(ValueError("second"))
    with pytest.raises(ValueError, match="first"):
        lock.check()
    lock.check()


def test_one_of_several_waiters_is_told_and_the_others_go_on() -> None:
    lock = DeviceLock()
    lock.acquire()
    told: list[BaseException] = []
    held: list[int] = []
    guard = threading.Lock()

    def wait(number: int) -> None:
        try:
            lock.acquire()
        except ValueError as error:
            with guard:
                told.append(error)
            return
        with guard:
            held.append(number)
        lock.release()

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    assert held == [] and told == []
    lock.release(ValueError())
    for thread in threads:
        thread.join()
    assert len(told) == 1 and len(held) == 4


def test_waiting_for_a_lock_is_measured_and_taking_a_free_one_is_not() -> None:
    metrics.reset()
    lock = DeviceLock()
    lock.acquire()
    assert metrics.metric_data("DeviceLockWait") is None
    waiter = threading.Thread(target=lock.barrier)
    waiter.start()
    while not lock._changed._waiters:  # type: ignore[attr-defined]
        continue
    lock.release()
    waiter.join()
    data = metrics.metric_data("DeviceLockWait")
    assert data is not None and data.number == 1
    metrics.reset()


def test_a_free_lock_is_not_released() -> None:
    with pytest.raises(RuntimeError, match="expected a lock that is held"):
        DeviceLock().release()


def test_several_devices_are_locked_in_one_order() -> None:
    """Threads that name the same devices in opposite orders never wait for each other."""
    devices = ["lazy:3", "lazy:2", "lazy:2"]
    with locked(devices) as contexts:
        assert [each.device for each in contexts] == ["lazy:2", "lazy:3"]
        assert all(each.lock.held for each in contexts)

    def many(order: list[str]) -> None:
        for _ in range(300):
            with locked(order):
                pass

    threads = [threading.Thread(target=many, args=(order,)) for order in (devices, devices[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(get_device_context(each).lock.held for each in devices)


def test_a_carried_exception_leaves_no_lock_behind() -> None:
    get_device_context("lazy:3").lock.leave(ValueError("carried"))
    with pytest.raises(ValueError, match="carried"), locked(["lazy:2", "lazy:3"]):
        raise AssertionError("the block must not run")
    assert not get_device_context("lazy:2").lock.held
    with locked(["lazy:2", "lazy:3"]):
        pass


def test_what_the_block_raises_is_the_callers_alone() -> None:
    with pytest.raises(KeyError), locked(["lazy:2"]):
        raise KeyError
    device_barrier("lazy:2")


def test_a_barrier_raises_what_was_left() -> None:
    get_device_context("lazy:2").lock.leave(ValueError("late"))
    with pytest.raises(ValueError, match="late"):
        device_barrier("lazy:2")
    device_barrier("lazy:2")


def test_equal_seeds_draw_equal_seeds() -> None:
    drawn = []
    for _ in range(2):
        set_rng_seed(7, "lazy:4")
        assert get_running_seed("lazy:4") == 7
        drawn.append([get_rng_seed("lazy:4") for _ in range(100)])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 100 and all(0 <= each < 1 << 64 for each in drawn[0])
    set_rng_seed(8, "lazy:4")
    assert not set(drawn[0]) & {get_rng_seed("lazy:4") for _ in range(100)}
    assert get_running_seed("lazy:4") != 8


def test_the_next_steps_seed_does_not_depend_on_what_was_drawn() -> None:
    seeds = []
    for draws in (0, 1, 50):
        context = DeviceContext("lazy:5")
        context.set_seed(-1)
        assert context.seed == (1 << 64) - 1
        steps = []
        for _ in range(20):
            for _ in range(draws):
                context.draw_seed()
            context.end_step()
            assert context.running_seed == context.seed
            steps.append(context.seed)
        seeds.append(steps)
    assert seeds[0] == seeds[1] == seeds[2]
    assert len(set(seeds[0])) == 20


def test_devices_draw_apart() -> None:
    set_rng_seed(1, "lazy:6")
    set_rng_seed(1, "lazy:7")
    first = get_rng_seed("lazy:6")
    assert get_running_seed("lazy:7") == 1
    assert get_rng_seed("lazy:7") == first


def test_a_forked_child_finds_every_lock_free() -> None:
    lock = get_device_context("lazy:8").lock
    lock.acquire()
    child = os.fork()
    if child == 0:
        device_barrier("lazy:8")
        os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    assert lock.held
    lock.release()
