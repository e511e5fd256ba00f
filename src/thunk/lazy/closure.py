"""Enters: functions to call when a step has ended. Leaves: them called, here or on a thread.

Invariant: closures of one kind run in the order in which they were added; what one of them raises
reaches the caller: at once, or from the next `run_step_closures` if it ran elsewhere.
"""

from __future__ import annotations

import atexit
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from thunk.base.config import config
from thunk.base.log import logger
from thunk.lazy.device_context import DeviceContext, device_contexts, get_device_context

Closure = Callable[[], Any]


class ClosureHandler:
    """Runs closures on the calling thread."""

    def run(self, closure: Closure) -> None:
        """Call one closure."""
        closure()

    def __call__(self, closures: Iterable[Closure]) -> None:
        """Run several; those behind one that raises do not run."""
        for closure in closures:
            self.run(closure)


class AsyncClosureHandler(ClosureHandler):
    """Runs closures on a thread of its own, which lives while there is something to run.

    At most `max_queue_size` closures wait; whoever adds one more is held up.
    """

    def __init__(self, max_queue_size: int | None = None) -> None:
        limit = config.lazy_max_async_queue if max_queue_size is None else max_queue_size
        if limit < 1:
            raise ValueError(f"max_queue_size: expected at least 1, got {limit}")
        self._limit = limit
        self._changed = threading.Condition()
        self._waiting: deque[Closure] = deque()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def run(self, closure: Closure) -> None:
        """Queue one closure; raise what an earlier one raised."""
        self([closure])

    def __call__(self, closures: Iterable[Closure]) -> None:
        """Queue several; then raise what an earlier one raised."""
        found: BaseException | None = None
        for closure in closures:
            with self._changed:
                while len(self._waiting) >= self._limit and self._error is None and found is None:
                    self._start()
                    self._changed.wait()
                self._waiting.append(closure)
                found, self._error = found or self._error, None
        if found is not None:
            raise RuntimeError(
                "run_step_closures: expected asynchronous closures to return, got an exception "
                "from one that ran before; the closures after it wait for the next call"
            ) from found
        with self._changed:
            self._start()

    def drain(self) -> None:
        """Return when no closure is waiting or running; raise what one of them raised."""
        with self._changed:
            while self._error is None and (self._waiting or self._thread is not None):
                self._start()
                self._changed.wait()
            error, self._error = self._error, None
        if error is not None:
            raise error

    def _start(self) -> None:
        """Have a thread; called with the lock."""
        if self._thread is None and self._waiting:
            self._thread = threading.Thread(target=self._loop, name="thunk step closures")
            self._thread.start()

    def _loop(self) -> None:
        while (closure := self._next()) is not None:
            try:
                closure()
            except BaseException as error:
                self._stop(error)
                return

    def _next(self) -> Closure | None:
        """The closure that has waited longest; without one, this thread is over."""
        with self._changed:
            if not self._waiting:
                self._thread = None
                self._changed.notify_all()
                return None
            closure = self._waiting.popleft()
            self._changed.notify_all()
            return closure

    def _stop(self, error: BaseException) -> None:
        with self._changed:
            self._error = error
            self._thread = None
            self._changed.notify_all()


def add_step_closure(
    closure: Callable[..., Any], args: Sequence[Any] = (), run_async: bool = False
) -> None:
    """Call `closure(*args)` after the next step's barrier, when its tensors have their values."""
    taken = tuple(args)
    get_device_context().add_closures([lambda: closure(*taken)], run_async)


def run_step_closures() -> DeviceContext:
    """Call what was added since the last step: asynchronous closures are queued, others run.

    Those behind one that raises run the next time.
    """
    context = get_device_context()
    waiting = context.take_closures(True)
    try:
        if waiting:
            _handler(context, True)(waiting)
    finally:
        here = context.take_closures(False)
        try:
            if here:
                _handler(context, False)(_popped(here))
        finally:
            context.add_closures(here, False)
    return context


def _popped(closures: list[Closure]) -> Iterator[Closure]:
    """The closures from the first on; what is left in the list was not given yet."""
    while closures:
        yield closures.pop(0)


def _handler(context: DeviceContext, run_async: bool) -> ClosureHandler:
    found: ClosureHandler | None = context.handlers.get(run_async)
    if found is None:
        found = AsyncClosureHandler() if run_async else ClosureHandler()
        context.handlers[run_async] = found
    return found


def drain_step_closures() -> None:
    """Return when every asynchronous closure has run; raise what one of them raised."""
    handler = get_device_context().handlers.get(True)
    if handler is not None:
        handler.drain()


def _say_what_nobody_heard() -> None:
    """At the end of the process no step will raise what the last closures raised."""
    for context in device_contexts():
        handler = context.handlers.get(True)
        if handler is not None:
            try:
                handler.drain()
            except BaseException as error:
                logger("lazy").error("a step closure failed and no step followed: %r", error)


atexit.register(_say_what_nobody_heard)
