"""Enters, in a process of its own: tasks from a loader. Leaves: one message for each, in order.

Invariant: a worker seeds every generator from (base seed, its number), runs everything eagerly on
one thread, and ends when it is told to or when its parent is gone.
"""

from __future__ import annotations

import os
import queue
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy

from thunk.base.log import logger
from thunk.data import transport
from thunk.data.failure import ExceptionWrapper
from thunk.data.fetch import fetcher_for
from thunk.lazy.eager import eager
from thunk.tensor.generator import manual_seed
from thunk.tensor.settings import set_num_threads

STATUS_CHECK_SECONDS = 5.0
_UINT32 = 2**32 - 1


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What code in a worker process may know of itself."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that the workers of one loader are told at their start."""

    kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], Any] | None
    num_workers: int


@dataclass(frozen=True, slots=True)
class Resume:
    """Sent at the start of another epoch, and back once it arrived."""


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """Sent back when the worker's copy of a stream has no more samples."""


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The number, seed and dataset of the worker process that asks; None in the main process."""
    return _worker_info


def numpy_seed(base_seed: int, worker: int) -> Any:
    """The four words that seed NumPy's global generator, as PyTorch derives them."""
    entropy = [worker, base_seed & _UINT32, base_seed >> 32, 0]
    return numpy.random.SeedSequence(entropy).generate_state(4)


def _seed_everything(plan: Plan, worker: int) -> int:
    seed = plan.base_seed + worker
    random.seed(seed)
    manual_seed(seed)
    numpy.random.seed(numpy_seed(plan.base_seed, worker))
    return seed


class _Inbox:
    """Takes messages out of the socket at once, so that the sender never waits for this process."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._parent = os.getppid()
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._closed = threading.Event()
        threading.Thread(target=self._listen, name="thunk-data-inbox", daemon=True).start()

    def _listen(self) -> None:
        try:
            while os.getppid() == self._parent:
                if not self._connection.poll(STATUS_CHECK_SECONDS):
                    continue
                message = transport.receive(self._connection)
                if message is None:
                    break
                self._messages.put(message)
        except (EOFError, OSError) as error:
            # The loader's end is closed: nobody waits for the rest.
            logger("data").debug("worker %d: the loader is gone (%s)", os.getpid(), error)
        self._closed.set()
        self._messages.put(None)

    def get(self) -> Any:
        """The next message; None, whatever still waits, once the loader wants no more."""
        message = self._messages.get()
        return None if self._closed.is_set() else message


class _Server:
    """Answers the tasks of one loader."""

    def __init__(self, plan: Plan, worker: int, connection: Connection) -> None:
        self.plan = plan
        self.worker = worker
        self.connection = connection
        self.fetcher: Any = None
        self.failure: ExceptionWrapper | None = None
        self.ended = False

    def wrapped(self, error: BaseException) -> ExceptionWrapper:
        return ExceptionWrapper(error, f"in DataLoader worker process {self.worker}")

    def start(self, initialise: bool) -> None:
        """Make the reader; what fails here is the answer to the first task."""
        plan = self.plan
        self.ended = False
        try:
            if initialise and plan.init_fn is not None:
                plan.init_fn(self.worker)
            self.fetcher = fetcher_for(
                plan.kind, plan.dataset, plan.auto_collation, plan.collate_fn, plan.drop_last
            )
        except Exception as error:
            self.failure = self.wrapped(error)

    def answer(self, index: Any) -> Any:
        """The data for a task, or why there is none."""
        if self.failure is not None:
            failure, self.failure = self.failure, None
            return failure
        try:
            return self.fetcher.fetch(index)
        except StopIteration as error:
            if not self.plan.kind:
                return self.wrapped(error)
            self.ended = True
            return StreamEnd()
        except Exception as error:
            return self.wrapped(error)

    def reply(self, number: int | None, data: Any) -> None:
        """Send an answer; one that cannot be pickled is replaced by the reason."""
        try:
            transport.send(self.connection, (number, data))
        except OSError:
            raise
        except Exception as error:
            reason = self.wrapped(error)
            if isinstance(data, ExceptionWrapper):
                reason = data
                reason.exc_type = RuntimeError
            transport.send(self.connection, (number, reason))

    def serve(self) -> None:
        """Answer until told to stop."""
        inbox = _Inbox(self.connection)
        while (message := inbox.get()) is not None:
            if isinstance(message, Resume):
                self.start(initialise=False)
                self.reply(None, message)
            elif not self.ended:
                number, index = message
                self.reply(number, self.answer(index))


def run(plan: Plan, worker: int, connection: Connection, inherited: list[Connection]) -> None:
    """The main function of worker number `worker`."""
    global _worker_info
    for other in inherited:
        # The loader's ends of all sockets were copied by the fork; only the loader may hold them.
        other.close()
    set_num_threads(1)
    with eager():
        seed = _seed_everything(plan, worker)
        _worker_info = WorkerInfo(worker, plan.num_workers, seed, plan.dataset)
        server = _Server(plan, worker, connection)
        try:
            server.start(initialise=True)
            server.serve()
        except (BrokenPipeError, ConnectionResetError):
            # The loader went away in the middle of an answer; so does its worker.
            return
        except KeyboardInterrupt:
            # The loader gets the interrupt too, and it is the one to report it.
            return
