"""Enters: conditions. Leaves: nothing, or the exception that PyTorch raises when they fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.types.tensor_base import TensorBase


def _assert(condition: Any, message: str) -> None:
    """An assertion that may be about a tensor."""
    if not condition:
        raise AssertionError(message)


def _check(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise RuntimeError unless `cond` holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise IndexError unless `cond` holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise ValueError unless `cond` holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise TypeError unless `cond` holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise NotImplementedError unless `cond` holds."""
    _check_with(NotImplementedError, cond, message)


def _check_with(
    error_type: type[Exception], cond: Any, message: Callable[[], str] | None = None
) -> None:
    if isinstance(cond, TensorBase) or not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        raise error_type("Expected cond to be True, but got False" if message is None
                         else str(message()))  # fmt: skip


def _check_is_size(i: int, message: Callable[[], str] | None = None, *, max: Any = None) -> None:
    """Raise RuntimeError unless `i` can be a size."""
    _check(i >= 0, message)
