"""Enters: addresses of jobs. Leaves: the native thread that runs them one after another.

Only this thread enters the OpenMP pool and oneDNN, because each thread that does gets threads of
its own. Invariant: jobs run in the order of their tickets; nobody waits with the GIL held.
"""

from __future__ import annotations

import os
import signal
import time

import numpy

from thunk.backends.cpu.worker_code import (
    COMPLETED,
    HALTED,
    IDLE_SPINS,
    LIMIT,
    MASK,
    RING,
    SET_MASK,
    STATE_WORDS,
    SUBMITTED,
    THREAD,
    WANTED,
    queue,
)
from thunk.runtime.storage import allocate

CAPACITY = 64  # a power of two
SPINS = 500  # some 25 us of hope that news is near, before a thread goes to sleep
SLICE = 50_000_000  # nanoseconds between two looks at Python's signals


class Worker:
    """A thread and its queue. Calls of `submit` must not overlap."""

    def __init__(self, depth: int = CAPACITY) -> None:
        self._state = allocate(8 * STATE_WORDS).view(numpy.int64)
        self._state[:] = 0
        self._ring = numpy.zeros(CAPACITY, numpy.int64)
        self._state[MASK] = CAPACITY - 1
        self._state[RING] = self._ring.ctypes.data
        self._state[IDLE_SPINS] = SPINS
        self._state[WANTED] = numpy.iinfo(numpy.int64).max
        self._words = self._state.data
        self._address = int(self._state.ctypes.data)
        self._native = queue()
        self.alive = False
        self._seconds = 0.0
        self.set_depth(depth)

    def start(self) -> None:
        """Make the thread; without it `alive` stays False and jobs are the caller's to run."""
        if os.name != "posix":
            return
        self._state[SET_MASK] = int(signal.SIG_SETMASK)
        failed = self._native.start(self._address)
        if failed:
            raise OSError(failed, f"worker: expected a thread, got: {os.strerror(failed)}")
        self.alive = True

    def set_depth(self, depth: int) -> None:
        """How many jobs may be queued, the running one included."""
        if not 1 <= depth <= CAPACITY:
            raise ValueError(f"queue_depth: expected 1 to {CAPACITY}, got {depth}")
        self._state[LIMIT] = depth

    def submit(self, job: int) -> int:
        """Queue a job and write its ticket into it; the jobs completed, -1 if there is no room."""
        completed: int = self._native.submit(self._address, job)
        return completed

    @property
    def submitted(self) -> int:
        """The last ticket."""
        return self._words[SUBMITTED]

    @property
    def completed(self) -> int:
        """Jobs with tickets up to this one are over, and what they wrote can be read."""
        count: int = self._native.completed(self._address)
        return count

    def done(self, ticket: int) -> bool:
        """Whether the job with this ticket is over."""
        return self._words[COMPLETED] >= ticket and self.completed >= ticket

    def wait(self, ticket: int, spins: int = 0) -> None:
        """Return when the job with this ticket is over; an interrupt ends the waiting.

        Who looks `spins` times before sleeping learns of the end sooner, and may take a core from
        the threads that the job forks.
        """
        while not self._native.wait(self._address, ticket, SLICE, spins):
            if not self.alive:
                raise RuntimeError("worker: expected a living thread to wait for, got none")

    @property
    def ticket_of_room(self) -> int:
        """At its end half of a full queue is free, so that a sleeper is woken now and then only."""
        return self.submitted - self._words[LIMIT] // 2

    def wait_all(self) -> None:
        """Return when everything that is queued by now is over."""
        self.wait(self.submitted)

    @property
    def halted(self) -> bool:
        """Whether a job failed, so that the jobs behind it are skipped."""
        return bool(self._words[HALTED])

    def resume(self) -> None:
        """Run jobs again; to be called when all that was queued is over."""
        self._state[HALTED] = 0

    @property
    def seconds(self) -> float:
        """The processor's time that the thread has taken; of a thread that ended, to its end."""
        if self.alive and hasattr(time, "pthread_getcpuclockid"):
            clock = time.pthread_getcpuclockid(int(self._state[THREAD]))
            self._seconds = time.clock_gettime(clock)
        return self._seconds

    def stop(self) -> None:
        """Finish what is queued and end the thread."""
        if self.alive:
            self.wait_all()
            self._seconds = self.seconds
            self._native.stop(self._address)
            self.alive = False

    def forsake(self) -> None:
        """In a forked child: the thread is the parent's."""
        self.alive = False
