"""Enters: nothing. Leaves: the per-thread modes that decide how a call is dispatched.

Invariant: every mode of a thread lives in one `State` object, fetched once per call.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from thunk.base.notice import listeners
from thunk.dispatch.keys import DispatchKey, KeySet
from thunk.types.dtype import bfloat16, dtype

_NOTHING = KeySet()


# Makes the recorder of a thread; the layer that records puts its own here.
recorder_of_thread: list[Any] = []
# Whether threads record from their start; empty: not yet.
by_default: list[bool] = []


_set = threading.local.__setattr__


class State(threading.local):
    """Modes of the current thread.

    `recorder` is the trace that calls are recorded on, None while they run at once. Setting any
    other attribute tells it that calls mean something else from now on.
    """

    recorder: Any = None

    def __init__(self) -> None:
        self.grad_enabled = True
        self.anomaly = False
        self.anomaly_checks_nan = True
        self.include = _NOTHING
        self.exclude = KeySet([DispatchKey.AutocastCPU])
        self.autocast_dtype: dtype = bfloat16
        self.autocast_cache = True
        self.function_modes: list[Any] = []
        self.dispatch_modes: list[Any] = []
        self.saved_tensor_hooks: list[Any] = []
        self.saved_hooks_disabled: str | None = None
        self.lazy = bool(by_default and by_default[0])

    def __setattr__(self, name: str, value: Any) -> None:
        _set(self, name, value)
        recorder = self.recorder
        if recorder is not None:
            recorder.leave_known_modes()

    @property
    def lazy(self) -> bool:
        """Whether calls on the default device are recorded."""
        return self.recorder is not None

    @lazy.setter
    def lazy(self, value: bool) -> None:
        self.recorder = recorder_of_thread[0]() if value else None

    def changed(self) -> None:
        """What is recorded from here on is recorded in other modes."""
        recorder = self.recorder
        if recorder is not None:
            recorder.leave_known_modes()

    @property
    def records(self) -> bool:
        """Whether calls are recorded now: some modes look at every value or every call."""
        return self.recorder is not None and not (
            self.saved_tensor_hooks or self.anomaly or self.function_modes or self.dispatch_modes
        )


state = State()
listeners.append(state.changed)


def record_by_default(value: bool) -> None:
    """Let this thread, and those that start from now on, record calls or run them at once."""
    by_default[:] = [value]
    state.lazy = value


class key_guard:
    """Include and exclude dispatch keys inside a `with` block."""

    __slots__ = ("_exclude", "_include", "_previous")

    def __init__(self, include: KeySet = _NOTHING, exclude: KeySet = _NOTHING) -> None:
        self._include = include
        self._exclude = exclude

    def __enter__(self) -> None:
        self._previous = (state.include, state.exclude)
        state.include = (state.include | self._include) - self._exclude
        state.exclude = (state.exclude - self._include) | self._exclude

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        state.include, state.exclude = self._previous


class no_grad_recording:
    """Switch gradient recording inside a `with` block; the public modes build on it."""

    __slots__ = ("_enabled", "_previous")

    def __init__(self, enabled: bool = False) -> None:
        self._enabled = enabled

    def __enter__(self) -> None:
        self._previous = state.grad_enabled
        state.grad_enabled = self._enabled

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        state.grad_enabled = self._previous
