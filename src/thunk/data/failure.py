"""Enters: an exception in a worker. Leaves: its type and text, to be raised again elsewhere.

Invariant: only a type and text travel, never the exception object, which may hold anything.
"""

from __future__ import annotations

import traceback
from typing import NoReturn


class _Text(str):
    """Text whose repr is itself: KeyError shows the repr of its argument."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception caught in another process, with its trace as text."""

    def __init__(self, error: BaseException, where: str = "in background") -> None:
        self.exc_type = type(error)
        self.exc_msg = "".join(traceback.format_exception(error))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise an exception of the same type whose message ends with the original trace."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if issubclass(self.exc_type, KeyError):
            text = _Text(text)
        try:
            error = self.exc_type(text)
        except Exception:
            # A type that cannot be made from one text cannot be rebuilt; its trace tells the rest.
            raise RuntimeError(text) from None
        raise error
