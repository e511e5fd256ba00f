"""A function that serves calls, and where it was registered.

Enters: functions, or `FALLTHROUGH`. Leaves: `Kernel` records.
Invariant: every kernel can name its place in a file or its module.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NoReturn


class KernelKind(StrEnum):
    """What a table slot does when a call reaches it."""

    KERNEL = "kernel"
    FALLTHROUGH = "fallthrough"
    MISSING = "missing"
    AMBIGUOUS = "ambiguous"


def fallthrough_kernel(*args: Any, **kwargs: Any) -> NoReturn:
    """Stand for "let the next key of lower priority serve this call"; never called itself."""
    raise NotImplementedError(
        "fallthrough_kernel: expected to be registered to a dispatch key, got called;"
        " pass it to impl() or register_fallback() instead"
    )


_FALLTHROUGH_KIND = KernelKind.FALLTHROUGH
FALLTHROUGH: Callable[..., Any] = fallthrough_kernel


class Kernel:
    """A function registered to a key, with the place that registered it."""

    # A plain class: thousands are made at import, and a frozen dataclass is four times slower.
    __slots__ = ("_where", "boxed", "function", "kind")

    def __init__(
        self,
        function: Callable[..., Any],
        where: str | None = None,
        kind: KernelKind = KernelKind.KERNEL,
        boxed: bool = False,
    ) -> None:
        self.function = function
        self.kind = _FALLTHROUGH_KIND if function is FALLTHROUGH else kind
        self.boxed = boxed
        self._where = where

    @property
    def where(self) -> str:
        """Return "file:line" of the registration, or of the function if none was given."""
        if self._where is None:
            self._where = definition_of(self.function)
        return self._where

    @property
    def name(self) -> str:
        """Return the function's name for people."""
        if self.kind is KernelKind.FALLTHROUGH:
            return "fallthrough"
        return getattr(self.function, "__name__", None) or type(self.function).__name__

    def __repr__(self) -> str:
        return f"Kernel({self.name}, {self.kind.value}, {self.where})"


def definition_of(function: Callable[..., Any]) -> str:
    """Return "file:line" of a Python function, or its module's name for any other callable."""
    inner: Any = function
    while True:
        if hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        elif hasattr(inner, "__func__"):
            inner = inner.__func__
        else:
            break
    code = getattr(inner, "__code__", None)
    if code is not None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    return f"module {getattr(inner, '__module__', None) or 'builtins'}"
