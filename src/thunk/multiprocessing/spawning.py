"""Enters: a function and a number. Leaves: as many processes that run it, watched.

Invariant: if one fails the others are ended, and its traceback is part of the error here.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import traceback
from collections.abc import Callable
from typing import Any


class ProcessException(Exception):
    """A child process failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid


class ProcessRaisedException(ProcessException):
    """A child process raised an exception."""


class ProcessExitedException(ProcessException):
    """A child process ended with a status that is not zero."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code


def _wrapped(function: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        function(index, *args)
    except KeyboardInterrupt:
        return
    except BaseException as error:
        if isinstance(error, SystemExit):
            raise
        errors.put(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes = processes
        self._errors = errors

    def pids(self) -> list[int | None]:
        """The numbers of the processes."""
        return [each.pid for each in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until all ended, or raise what the first that failed raised."""
        alive = {each.sentinel: index for index, each in enumerate(self.processes)
                 if each.exitcode is None}  # fmt: skip
        ready = multiprocessing.connection.wait(list(alive), timeout) if alive else []
        failed = next(
            (index for index, each in enumerate(self.processes) if each.exitcode not in (None, 0)),
            None,
        )
        if failed is None:
            for sentinel in ready:
                self.processes[alive[int(sentinel)]].join()  # type: ignore[arg-type]  # an int
            failed = next(
                (i for i, each in enumerate(self.processes) if each.exitcode not in (None, 0)), None
            )
        if failed is not None:
            self._raise(failed)
        return all(each.exitcode == 0 for each in self.processes)

    def _raise(self, index: int) -> None:
        for each in self.processes:
            if each.is_alive():
                each.terminate()
            each.join()
        process, errors = self.processes[index], self._errors[index]
        if errors.empty():
            raise ProcessExitedException(
                f"process {index} terminated with exit code {process.exitcode}", index,
                process.pid, process.exitcode,
            )  # fmt: skip
        raise ProcessRaisedException(
            f"\n\n-- Process {index} terminated with the following error:\n{errors.get()}", index,
            process.pid,
        )  # fmt: skip


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(index, *args)` in `nprocs` processes."""
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for index in range(nprocs):
        queue = context.SimpleQueue()
        process = context.Process(target=_wrapped, args=(fn, index, args, queue), daemon=daemon)
        process.start()
        processes.append(process)
        errors.append(queue)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(index, *args)` in `nprocs` fresh processes."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
