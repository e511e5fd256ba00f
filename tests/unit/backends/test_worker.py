"""The native thread: order, bounds, sleep and failure of queued jobs. Jobs are C functions."""

from __future__ import annotations

import _thread
import ctypes
import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from thunk.backends.cpu.status import SKIPPED
from thunk.backends.cpu.worker import Worker
from thunk.backends.cpu.worker_code import BASES, IDLE_SPINS, JOB_WORDS, STEPS, TICKET, WALK

LIBC = ctypes.CDLL(None)
BODY = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


class Job:
    """A job of the C function at `address`, called with `argument` first."""

    def __init__(self, address: int, argument: int = 0) -> None:
        self.status = numpy.zeros(1, numpy.int64)
        self.bases = numpy.array([0, 0, self.status.ctypes.data], numpy.int64)
        self.words = numpy.zeros(JOB_WORDS, numpy.int64)
        self.words[WALK], self.words[STEPS] = address, argument
        self.words[BASES] = self.bases.ctypes.data
        self.keep: Any = None

    @property
    def address(self) -> int:
        return int(self.words.ctypes.data)

    @property
    def ticket(self) -> int:
        return int(self.words[TICKET])


def native(name: str, argument: int = 0) -> Job:
    """A job of the C library, which needs no GIL."""
    address = ctypes.cast(getattr(LIBC, name), ctypes.c_void_p).value
    assert address is not None
    return Job(address, argument)


def python(body: Any) -> Job:
    """A job that runs a Python function of the job."""
    job = Job(0)
    job.keep = BODY(lambda *arguments: body(job))
    job.words[WALK] = ctypes.cast(job.keep, ctypes.c_void_p).value or 0
    return job


class Gate:
    """A C semaphore: jobs of `wait` stand still until `open`."""

    def __init__(self) -> None:
        self.memory = numpy.zeros(8, numpy.int64)
        LIBC.sem_init(ctypes.c_void_p(self.address), 0, 0)

    @property
    def address(self) -> int:
        return int(self.memory.ctypes.data)

    def wait(self) -> Job:
        return native("sem_wait", self.address)

    def open(self, times: int = 1) -> None:
        for _ in range(times):
            LIBC.sem_post(ctypes.c_void_p(self.address))


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    made.start()
    yield made
    made.stop()


def test_a_job_runs_while_python_goes_on(worker: Worker) -> None:
    gate = Gate()
    job = gate.wait()
    worker.submit(job.address)
    assert not worker.done(job.ticket)  # it stands still, and this line runs
    gate.open()
    worker.wait(job.ticket)
    assert worker.done(job.ticket)


def test_tickets_count_up_and_jobs_run_in_their_order(worker: Worker) -> None:
    seen: list[int] = []
    jobs = [python(lambda job: seen.append(job.ticket)) for _ in range(50)]
    for job in jobs:
        worker.submit(job.address)
    worker.wait_all()
    assert [job.ticket for job in jobs] == seen == list(range(1, 51))


def test_a_full_queue_refuses_and_waiting_for_room_lets_others_run(worker: Worker) -> None:
    worker.set_depth(3)
    gate = Gate()
    jobs = [gate.wait() for _ in range(4)]
    for job in jobs[:3]:
        assert worker.submit(job.address) >= 0
    assert worker.submit(jobs[3].address) == -1
    assert jobs[3].ticket == 0
    opener = threading.Thread(target=gate.open, args=(2,))  # cannot run if waiting keeps the GIL
    opener.start()
    worker.wait(worker.ticket_of_room)
    opener.join()
    assert worker.completed == 2  # half of the queue is free
    assert worker.submit(jobs[3].address) == 2
    gate.open(2)
    worker.wait_all()
    assert worker.completed == 4


def test_a_job_that_calls_python_runs_while_python_waits(worker: Worker) -> None:
    ran: list[int] = []
    job = python(lambda job: ran.append(threading.get_ident()))
    worker.submit(job.address)
    worker.wait(job.ticket)
    assert len(ran) == 1 and ran[0] != threading.get_ident()


def test_every_submission_is_seen_however_short_its_job(worker: Worker) -> None:
    """The thread falls asleep and is woken thousands of times; nothing may be lost."""
    worker._state[IDLE_SPINS] = 0
    job = native("getppid")
    for count in range(1, 5001):
        worker.submit(job.address)
        worker.wait(count)
    assert worker.completed == 5000


def test_several_threads_wait_for_one_worker(worker: Worker) -> None:
    gate = Gate()
    jobs = [gate.wait() for _ in range(3)]
    for job in jobs:
        worker.submit(job.address)
    over: list[int] = []

    def wait(ticket: int) -> None:
        worker.wait(ticket)
        over.append(ticket)

    threads = [threading.Thread(target=wait, args=(job.ticket,)) for job in jobs for _ in range(2)]
    for thread in threads:
        thread.start()
    assert over == []
    for job in jobs:  # whoever wants the first is woken first, and nobody is forgotten
        gate.open()
        worker.wait(job.ticket)
    for thread in threads:
        thread.join()
    assert sorted(over) == [1, 1, 2, 2, 3, 3]


def test_a_failure_halts_the_queue_until_python_has_looked(worker: Worker) -> None:
    def fail(job: Job) -> None:
        job.status[0] = 7

    failing, behind = python(fail), native("getppid")
    worker.submit(failing.address)
    worker.submit(behind.address)
    worker.wait_all()
    assert worker.halted
    assert (failing.status[0], behind.status[0]) == (7, SKIPPED)
    worker.resume()
    behind.status[0] = 0
    worker.submit(behind.address)
    worker.wait_all()
    assert behind.status[0] == 0 and not worker.halted


def test_stopping_finishes_what_is_queued() -> None:
    worker = Worker()
    worker.start()
    ran: list[int] = []
    jobs = [python(lambda job: ran.append(job.ticket)) for _ in range(5)]
    for job in jobs:
        worker.submit(job.address)
    worker.stop()
    assert ran == [1, 2, 3, 4, 5] and not worker.alive


def test_an_interrupt_ends_the_waiting(worker: Worker) -> None:
    # A shell starts background jobs with interrupts ignored, and then none would ever come.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gate = Gate()
    job = gate.wait()
    worker.submit(job.address)
    interrupter = threading.Thread(target=_thread.interrupt_main)  # waiting must let it run
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupter.start()
            worker.wait(job.ticket)
        assert not worker.done(job.ticket)
    finally:
        signal.signal(signal.SIGINT, before)
        gate.open()
    worker.wait(job.ticket)


def test_a_depth_outside_its_bounds_is_refused(worker: Worker) -> None:
    with pytest.raises(ValueError, match="expected 1 to 64, got 0"):
        worker.set_depth(0)
    with pytest.raises(ValueError, match="got 65"):
        worker.set_depth(65)
