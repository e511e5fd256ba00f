"""Enters: launches. Leaves: them run in order, by the native thread or, where there is none, here.

Invariant: a launch's buffers live until its completion was seen. After a failure, launches behind
it that read what it should have written fail with it; the others run, in their old order.
"""

from __future__ import annotations

import atexit
import os
import weakref
from collections import deque
from functools import cache
from threading import RLock, get_ident
from typing import TYPE_CHECKING

import numpy

from thunk.backends.cpu.status import SKIPPED
from thunk.backends.cpu.worker import SPINS, Worker
from thunk.base.config import config
from thunk.base.errors import recorded_at, where_recorded
from thunk.base.log import logger
from thunk.runtime.launch import FAILURES_KEPT, DependentFailure
from thunk.runtime.storage import Bytes, allocate

if TYPE_CHECKING:
    from thunk.backends.cpu.launch import Launch


class Flight:
    """Launches that were started and not yet seen to be over."""

    def __init__(self) -> None:
        self.worker = Worker(config.queue_depth)
        self.worker.start()
        self.launches: deque[Launch] = deque()
        self.failures: deque[Launch] = deque()
        self.nbytes = 0  # of the results of launches in flight
        self._lock = RLock()
        self._inside: dict[int, int] = {}  # threads that run a step which calls Python, how deeply
        self._spoilt: list[tuple[weakref.ref[Bytes], BaseException]] = []  # and by what
        self._arena = allocate(0)

    def arena(self, nbytes: int) -> Bytes:
        """Scratch memory: launches run one after another, so they share it."""
        if self._arena.nbytes < nbytes:
            self._arena = allocate(nbytes)
        return self._arena

    def start(self, launch: Launch) -> None:
        """Queue a launch; blocks while too much is queued."""
        if self._is_inside():
            self._run_nested(launch)
            return
        while ticket := self._try(launch):  # waiting with the lock could stop the thread waited for
            self.worker.wait(ticket)
        if not config.asynchronous:
            self.settle(launch)

    def run(self, launch: Launch) -> None:
        """Run a launch to its end; here, if nothing is queued and it needs no other threads."""
        if self._is_inside():
            self._run_nested(launch)
            return
        with self._lock:
            if self.launches:
                self._see(self.worker.completed)
            if not (launch.program.forks or self.launches):
                if not (self._spoilt and self._fails_with_another(launch)):
                    self._run_here(launch)
                return
        self.start(launch)
        self.settle(launch)

    def settle(self, launch: Launch) -> None:
        """Return when the launch is over and its failure, if any, known."""
        while not launch.settled:
            self._refuse_inside("wait")
            self.worker.wait(launch.ticket, SPINS if launch.program.brief else 0)
            with self._lock:
                self._see(self.worker.completed)

    def look(self) -> None:
        """Settle what is over by now."""
        if self.launches and not self._is_inside():
            with self._lock:
                self._see(self.worker.completed)

    def drain(self) -> None:
        """Return when everything that was started by now is over."""
        self._refuse_inside("wait")
        with self._lock:
            waiting = list(self.launches)
        for launch in waiting:
            self.settle(launch)

    def first_failure(self) -> Launch | None:
        """The oldest failure that nobody has been told of; it is told now."""
        with self._lock:
            while self.failures:
                launch = self.failures.popleft()
                if not launch.told:
                    launch.told = True
                    return launch
        return None

    def enter(self) -> None:
        """This thread runs a step that calls Python."""
        me = get_ident()
        self._inside[me] = self._inside.get(me, 0) + 1

    def leave(self) -> None:
        """The step is over."""
        me = get_ident()
        self._inside[me] -= 1
        if not self._inside[me]:
            del self._inside[me]

    def _try(self, launch: Launch) -> int:
        """Hand a launch over, or tell the ticket that must be over before."""
        with self._lock:
            if self._spoilt and self._fails_with_another(launch):
                return 0
            if not self.worker.alive:
                self._run_here(launch)
                return 0
            allowed = config.queue_megabytes << 20
            if self.launches and self.nbytes + launch.nbytes > allowed:
                self._see(self.worker.completed)
                if self.launches and self.nbytes + launch.nbytes > allowed:
                    oldest = self.launches[0].ticket
                    if oldest:
                        return oldest
            return self._submit(launch)

    def _submit(self, launch: Launch) -> int:
        record = launch.record
        assert record is not None
        self.nbytes += launch.nbytes
        self.launches.append(launch)
        completed = -1
        try:
            completed = self.worker.submit(record.address)
        finally:
            if not record.ticket:  # there was no room, or an interrupt came first
                self.launches.remove(launch)
                self.nbytes -= launch.nbytes
        if completed < 0:
            return self.worker.ticket_of_room
        self._see(completed)
        return 0

    def _see(self, completed: int) -> None:
        """Settle the launches up to a ticket.

        Buffers that are let go can run finalizers, which may launch and come here again.
        """
        launches = self.launches
        while launches:
            launch = launches[0]
            record = launch.record
            if record is not None:
                if not 0 < record.ticket <= completed:
                    return
                skipped = record.status == SKIPPED
                if not skipped:
                    self.nbytes -= launch.nbytes
                    launch.finish()
                if launch.error is not None:
                    self._note(launch)
                if skipped or launch.error is not None:
                    self._go_on()
                    completed = self.worker.completed
            if launches and launches[0] is launch and launch.settled:
                launches.popleft()

    def _note(self, launch: Launch) -> None:
        """Remember a failure and the memory it should have filled."""
        assert launch.error is not None
        self._spoil(launch, launch.error)
        if len(self.failures) < FAILURES_KEPT:
            self.failures.append(launch)
        else:
            logger("lazy").error("one of many failed runs: %r", launch.error)

    def _spoil(self, launch: Launch, cause: BaseException) -> None:
        self._spoilt += [(weakref.ref(each), cause) for each in launch.outputs]

    def restore(self, arrays: list[Bytes]) -> None:
        """Memory that a failed run should have filled has contents after all."""
        with self._lock:
            known = {id(each) for each in arrays}
            self._spoilt = [each for each in self._spoilt if id(each[0]()) not in known]

    def _go_on(self) -> None:
        """Let launches run that were skipped because one before them failed."""
        self.worker.wait_all()
        self.worker.resume()
        for launch in list(self.launches):
            record = launch.record
            if record is None or record.status != SKIPPED:
                continue
            if self._fails_with_another(launch):
                self.nbytes -= launch.nbytes
            else:
                record.set_status(0)
                self.worker.submit(record.address)

    def _fails_with_another(self, launch: Launch) -> bool:
        """Whether the launch reads memory that a failed one should have filled; it fails then."""
        self._spoilt = [each for each in self._spoilt if each[0]() is not None]
        cause = self._cause(launch)
        if cause is None:
            return False
        self._spoil(launch, cause)
        error = DependentFailure(
            "run: expected its inputs to have been computed, got a failure of an earlier run; "
            "recompute them"
        )
        error.__cause__ = cause
        recorded_at(error, where_recorded(cause))
        launch.fail(error)
        return True

    def _cause(self, launch: Launch) -> BaseException | None:
        """The failure that spoilt what the launch reads."""
        inputs = launch.inputs
        for known, cause in self._spoilt:
            memory = known()
            if memory is not None and any(numpy.may_share_memory(memory, each) for each in inputs):
                return cause
        return None

    def _run_here(self, launch: Launch) -> None:
        launch.walk()
        launch.finish()
        if launch.error is not None:
            self._note(launch)

    def _run_nested(self, launch: Launch) -> None:
        """A run inside another run's step must neither wait for it nor use its memory."""
        record = launch.record
        assert record is not None
        record.use_arena(allocate(launch.program.plan.arena))
        launch.walk()
        launch.finish()

    def _is_inside(self) -> bool:
        """Whether this thread runs a step of a program."""
        return bool(self._inside) and get_ident() in self._inside

    def _refuse_inside(self, name: str) -> None:
        if self._is_inside():
            raise RuntimeError(
                f"{name}: expected a call from outside a running program, got one from a step of "
                "it, which would wait for itself; wait before or after the run"
            )

    def before_fork(self) -> None:
        """A child must not see half a run."""
        if not self._is_inside():
            self.drain()

    def after_fork(self) -> None:
        """The child has no native thread; launches of other threads may have come between."""
        self.worker.forsake()
        self._lock = RLock()
        me = get_ident()
        self._inside = {ident: depth for ident, depth in self._inside.items() if ident == me}
        for launch in self.launches:
            if not launch.settled:
                launch.fail(RuntimeError("run: expected to finish before a fork, got lost in it"))
        self.launches.clear()
        self.nbytes = 0

    def close(self) -> None:
        """Finish, say what nobody asked about, and end the thread."""
        self.drain()
        while (launch := self.first_failure()) is not None:
            logger("lazy").error("a run failed and nobody waited for it: %r", launch.error)
        self.worker.stop()


@cache
def flight() -> Flight:
    """The launches of this process; the native thread starts with the first."""
    made = Flight()
    os.register_at_fork(before=made.before_fork, after_in_child=made.after_fork)
    atexit.register(made.close)
    config.watch("queue_depth", lambda: made.worker.set_depth(config.queue_depth))
    return made


def seconds_run() -> float:
    """The processor's time that runs on the native thread have taken so far."""
    return flight().worker.seconds if flight.cache_info().currsize else 0.0


def wait_all() -> None:
    """Return when every run is over; raise the first failure that nobody was told of."""
    if flight.cache_info().currsize:
        flight().drain()
        failed = flight().first_failure()
        if failed is not None and failed.error is not None:
            raise failed.error
