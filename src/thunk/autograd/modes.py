"""Enters: with blocks and decorators. Leaves: gradient recording and inference mode of this thread.

Invariant: leaving a block restores exactly what entering it found, whatever happened inside.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any, Self

from thunk.dispatch.state import state
from thunk.runtime.tensors import birth


class _Mode:
    """A context manager that also decorates functions, generators and classes."""

    def clone(self) -> Self:
        """A fresh instance for each decorated call, so that calls may nest."""
        return type(self)()

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass with __enter__")

    def __exit__(self, *error: object) -> None:
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass with __exit__")

    def __call__(self, function: Any) -> Any:
        if inspect.isclass(function):
            setattr(function, "__init__", self(function.__init__))  # noqa: B010
            return function
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The mode holds while the generator's body runs, not while it is suspended."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            generator = function(*args, **kwargs)
            step: Callable[[], Any] = functools.partial(next, generator)
            while True:
                try:
                    with self.clone():
                        value = step()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield value
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    step = functools.partial(generator.throw, error)
                else:
                    step = functools.partial(generator.send, sent)

        return wrapped


class _GradMode(_Mode):
    _enabled = True

    def __enter__(self) -> None:
        self._previous = state.grad_enabled
        state.grad_enabled = self._enabled

    def __exit__(self, *error: object) -> None:
        state.grad_enabled = self._previous


class no_grad(_GradMode):
    """Record no gradients. `@no_grad` without parentheses decorates, as `@no_grad()` does."""

    _enabled = False

    def __new__(cls, function: Any = None) -> Any:
        made = object.__new__(cls)
        return made if function is None else made(function)


class enable_grad(_GradMode):
    """Record gradients, inside `no_grad` too."""

    _enabled = True

    def __new__(cls, function: Any = None) -> Any:
        made = object.__new__(cls)
        return made if function is None else made(function)


class set_grad_enabled(_GradMode):
    """Switch recording at once; as a context manager, back again at the end of the block."""

    def __init__(self, mode: bool) -> None:
        self._enabled = bool(mode)
        self._previous = state.grad_enabled
        state.grad_enabled = self._enabled

    def __enter__(self) -> None:
        state.grad_enabled = self._enabled

    def __call__(self, function: Any) -> Any:
        # Used as a decorator, it must not leave the mode switched outside the calls.
        state.grad_enabled = self._previous
        return super().__call__(function)

    def clone(self) -> Self:
        return type(self)(self._enabled)


class inference_mode(_Mode):
    """Record nothing at all: tensors born inside track neither gradients nor versions."""

    def __new__(cls, mode: Any = True) -> Any:
        made = object.__new__(cls)
        if isinstance(mode, bool):
            return made
        made.mode = True
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self._previous = (birth.inference, state.grad_enabled)
        birth.inference = self.mode
        # Leaving inference mode by a nested inference_mode(False) records again, as in PyTorch.
        state.grad_enabled = not self.mode

    def __exit__(self, *error: object) -> None:
        birth.inference, state.grad_enabled = self._previous

    def clone(self) -> Self:
        made = object.__new__(type(self))
        made.mode = self.mode
        return made


def is_grad_enabled() -> bool:
    """Whether gradients are recorded in this thread."""
    return state.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return birth.inference
