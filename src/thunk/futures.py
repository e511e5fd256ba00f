"""`thunk.futures`: values that will be there later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Future:
    """A value, or an exception, that somebody will set."""

    def __init__(self, *, devices: Any = None) -> None:
        self._ready = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []
        self._lock = threading.Lock()

    def done(self) -> bool:
        """Whether it is there."""
        return self._ready.is_set()

    def wait(self) -> Any:
        """The value, when it is there; or its exception, raised."""
        self._ready.wait()
        return self.value()

    def value(self) -> Any:
        """The value, which must be there."""
        if not self.done():
            raise RuntimeError("Future: expected a value that is there, got none yet; wait() first")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        """Give it its value, once."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Give it an exception in place of a value."""
        self._finish(None, result)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError("Future: expected one result, got a second")
            self._value, self._error = value, error
            self._ready.set()
        for callback in self._callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call a function when it is there."""
        with self._lock:
            waiting = not self.done()
            if waiting:
                self._callbacks.append(callback)
        if not waiting:
            callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """What a function makes of it, later."""
        following = Future()

        def run(done: Future) -> None:
            try:
                following.set_result(callback(done))
            except Exception as error:
                following.set_exception(error)

        self.add_done_callback(run)
        return following


def collect_all(futures: list[Future]) -> Future:
    """A future of all futures, once all are there."""
    gathered = Future()
    remaining = len(futures)
    lock = threading.Lock()

    def count(_: Future) -> None:
        nonlocal remaining
        with lock:
            remaining -= 1
            last = remaining == 0
        if last:
            gathered.set_result(futures)

    if not futures:
        gathered.set_result(futures)
    for each in futures:
        each.add_done_callback(count)
    return gathered


def wait_all(futures: list[Future]) -> list[Any]:
    """The values of all."""
    return [each.wait() for each in futures]
