"""Enters: with blocks and decorators. Leaves: this thread's gradient recording, on or off."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

from thunk.dispatch.state import state


class _GradMode:
    """Context manager and decorator that sets whether gradients are recorded."""

    _enabled = True

    def __enter__(self) -> None:
        self._previous = state.grad_enabled
        state.grad_enabled = self._enabled

    def __exit__(self, *error: object) -> None:
        state.grad_enabled = self._previous

    def clone(self) -> Self:
        """A fresh instance for each decorated call, so that calls may nest."""
        return type(self)()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapped


class no_grad(_GradMode):
    """Record no gradients."""

    _enabled = False


class enable_grad(_GradMode):
    """Record gradients, inside `no_grad` too."""

    _enabled = True
