"""Enters: a plan for workers and their number. Leaves: running processes and messages from them.

Invariant: every process of a pool ends with the pool, and every socket is closed; a process that
dies on its own is an error at the next message asked for, never a hang.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import time
import warnings
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

from thunk.data import transport, worker
from thunk.data.hooks import run_before_fork

_JOIN_SECONDS = 5.0


def _death_of(process: Any) -> str:
    """How a process ended, in words."""
    process.join(_JOIN_SECONDS)
    code = process.exitcode
    if code is not None and code < 0:
        return f"(pid {process.pid}) is killed by signal: {signal.Signals(-code).name}"
    return f"(pid(s) {process.pid}) exited unexpectedly with exit code {code}"


class WorkerPool:
    """The worker processes of one iterator, each at the end of a socket of its own."""

    def __init__(self, plan: worker.Plan, context: Any) -> None:
        self._context = multiprocessing.get_context() if context is None else context
        self.processes: list[Any] = []
        self.retired: set[int] = set()
        self._connections: list[Connection] = []
        self._closed = False
        self._owner = os.getpid()
        run_before_fork()
        try:
            for number in range(plan.num_workers):
                self._start(plan, number)
        except BaseException:
            self.close()
            raise

    def _start(self, plan: worker.Plan, number: int) -> None:
        ours, theirs = self._context.Pipe(duplex=True)
        self._connections.append(ours)
        copied = list(self._connections) if self._context.get_start_method() == "fork" else []
        process = self._context.Process(
            target=worker.run, args=(plan, number, theirs, copied), daemon=True
        )
        try:
            process.start()
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            warnings.warn(
                "DataLoader: expected a dataset, collate_fn and worker_init_fn that can be "
                f"pickled for a new process, got {error}; define them at the top level of a "
                "module, or use multiprocessing_context='fork'",
                stacklevel=2,
            )
            raise
        finally:
            theirs.close()
        self.processes.append(process)

    def send(self, number: int, message: Any) -> None:
        """Send to worker `number`."""
        # A worker that is gone is reported where its answer is waited for, with its exit code.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            transport.send(self._connections[number], message)

    def retire(self, number: int) -> None:
        """Tell worker `number` that nothing more will come; its end is then no failure."""
        self.send(number, None)
        self.retired.add(number)

    def receive(self, timeout: float) -> tuple[int, Any]:
        """The next message of any worker and who sent it; with `timeout` > 0, a deadline."""
        deadline = time.monotonic() + timeout if timeout > 0 else None
        active = [n for n in range(len(self.processes)) if n not in self.retired]
        sources: dict[Any, int] = {self._connections[number]: number for number in active}
        sources |= {self.processes[number].sentinel: number for number in active}
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = wait(list(sources), left)
            # What a worker said before it died is still read, so sockets come first.
            ready.sort(key=lambda source: not isinstance(source, Connection))
            if ready:
                number = sources[ready[0]]
                return number, self._message_of(number)
            if deadline is not None and time.monotonic() >= deadline:
                raise RuntimeError(f"DataLoader timed out after {timeout:g} seconds")

    def _message_of(self, number: int) -> Any:
        try:
            return transport.receive(self._connections[number])
        except (EOFError, ConnectionResetError):
            self._raise_death(number)

    def _raise_death(self, number: int) -> NoReturn:
        self.retired.add(number)
        told = _death_of(self.processes[number])
        raise RuntimeError(
            f"DataLoader worker {told}; num_workers=0 runs the same code in this process and shows "
            "its error"
        )

    def close(self) -> None:
        """End every worker and close every socket."""
        if self._closed or os.getpid() != self._owner:
            # In a fork of the loader's process this is a copy: neither workers nor sockets are its.
            return
        self._closed = True
        for number in range(len(self.processes)):
            if number not in self.retired:
                self.retire(number)
        # A worker in the middle of an answer stops at the closed socket.
        for connection in self._connections:
            connection.close()
        for process in self.processes:
            process.join(_JOIN_SECONDS)
            if process.is_alive():
                process.terminate()
                process.join(_JOIN_SECONDS)
            process.close()
