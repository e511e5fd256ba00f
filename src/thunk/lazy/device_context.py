"""Enters: devices. Leaves: for each device its lock, its random seed and what waits for its step.

Invariant: whoever holds a device's lock is alone on it; an exception that its holder leaves behind
is raised once, to the next who asks for the lock. Several locks are taken in one order everywhere.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from thunk.lazy.metrics import timed

DEFAULT_DEVICE: Final = "lazy:0"
_WORD: Final = (1 << 64) - 1
_STRIDE: Final = 0x9E3779B97F4A7C15  # odd, so that seeds repeat after 2**64 draws only


class DeviceLock:
    """A lock that hands an exception to the next holder."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held = False
        self._error: BaseException | None = None

    @property
    def held(self) -> bool:
        """Whether somebody holds it."""
        return self._held

    def acquire(self) -> None:
        """Wait for the lock; instead of holding it, raise what was left behind."""
        with self._changed:
            if self._held:
                with timed("DeviceLockWait"):
                    while self._held:
                        self._changed.wait()
            error, self._error = self._error, None
            if error is not None:
                self._changed.notify()
                raise error
            self._held = True

    def release(self, error: BaseException | None = None) -> None:
        """Let the next one in; an error that nobody was told of yet goes before a newer one."""
        with self._changed:
            if not self._held:
                raise RuntimeError("release: expected a lock that is held, got one that is free")
            self._held = False
            if self._error is None:
                self._error = error
            self._changed.notify()

    def leave(self, error: BaseException) -> None:
        """Leave an exception for the next holder, whoever holds the lock now."""
        with self._changed:
            if self._error is None:
                self._error = error

    def check(self) -> None:
        """Raise what was left behind, once; never waits."""
        with self._changed:
            error, self._error = self._error, None
        if error is not None:
            raise error

    def barrier(self) -> None:
        """Return when nobody holds the lock."""
        self.acquire()
        self.release()


class DeviceContext:
    """What the executor knows of one device besides its tensors."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.lock = DeviceLock()
        self.handlers: dict[bool, Any] = {}  # of closures, by whether they are asynchronous
        self._closures: dict[bool, list[Callable[[], Any]]] = {False: [], True: []}
        self._guard = threading.Lock()
        self._seed = 0
        self._running = 0

    def add_closures(self, closures: list[Callable[[], Any]], run_async: bool) -> None:
        """Call these when the step has ended."""
        with self._guard:
            self._closures[run_async] += closures

    def take_closures(self, run_async: bool) -> list[Callable[[], Any]]:
        """What is to be called now; nobody else gets it."""
        with self._guard:
            taken, self._closures[run_async] = self._closures[run_async], []
            return taken

    def forget_threads(self) -> None:
        """In a forked child: whoever held something here does not exist."""
        self.lock = DeviceLock()
        self._guard = threading.Lock()
        self.handlers = {}

    @property
    def seed(self) -> int:
        """Where this step's random numbers began."""
        return self._seed

    @property
    def running_seed(self) -> int:
        """The seed that was drawn last, or the step's if none was."""
        return self._running

    def set_seed(self, seed: int) -> None:
        """Begin random numbers anew; equal seeds draw equal seeds."""
        with self._guard:
            self._seed = self._running = seed & _WORD

    def draw_seed(self) -> int:
        """The seed of one more random operation; an input of the step, never part of its key."""
        with self._guard:
            self._running = (self._running + _STRIDE) & _WORD
            return _mixed(self._running)

    def end_step(self) -> None:
        """The next step's seed follows from this step's, however many were drawn in it."""
        with self._guard:
            self._seed = self._running = _mixed((self._seed ^ _STRIDE) + 1 & _WORD)


def _mixed(word: int) -> int:
    """A bijection of 64 bits that leaves no pattern of counting (the finalizer of SplitMix64)."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _WORD
    return word ^ (word >> 31)


class _Contexts:
    """Every device's context, by name."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.known: dict[str, DeviceContext] = {}
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        """The threads that held locks stayed in the parent."""
        self.lock = threading.Lock()
        for context in self.known.values():
            context.forget_threads()


_contexts: Final = _Contexts()


def device_name(device: Any = None) -> str:
    """A device's name with its index; the default lazy device for nothing or ""."""
    if device is None or device == "":
        return DEFAULT_DEVICE
    name = str(device)
    return name if ":" in name else f"{name}:0"


def get_device_context(device: Any = None) -> DeviceContext:
    """The one context of a device."""
    name = device_name(device)
    with _contexts.lock:
        found = _contexts.known.get(name)
        if found is None:
            found = _contexts.known[name] = DeviceContext(name)
        return found


def device_contexts() -> list[DeviceContext]:
    """Every device that was asked for, in the order of names."""
    with _contexts.lock:
        return [_contexts.known[name] for name in sorted(_contexts.known)]


def _in_order(devices: Iterable[Any]) -> list[DeviceContext]:
    return [get_device_context(name) for name in sorted({device_name(each) for each in devices})]


@contextmanager
def locked(devices: Iterable[Any]) -> Iterator[list[DeviceContext]]:
    """Hold the locks of several devices inside a `with` block.

    What the block raises goes to the caller only; what a launched run raises later is left behind
    with `DeviceLock.leave`.
    """
    with ExitStack() as held:
        contexts = _in_order(devices)
        for context in contexts:
            context.lock.acquire()
            held.callback(context.lock.release)
        yield contexts


def device_barrier(device: Any = None) -> None:
    """Return when nobody holds the device's lock; raise what was left behind."""
    get_device_context(device).lock.barrier()


def get_rng_seed(device: Any = None) -> int:
    """A fresh seed for one random operation."""
    return get_device_context(device).draw_seed()


def get_running_seed(device: Any = None) -> int:
    """The state that the next seed is drawn from."""
    return get_device_context(device).running_seed


def set_rng_seed(seed: int, device: Any = None) -> None:
    """Begin the device's random numbers anew."""
    get_device_context(device).set_seed(seed)
