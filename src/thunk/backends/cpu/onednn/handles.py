"""Enters: handles that the library made. Leaves: objects that destroy them when they go.

Invariant: `live` counts what was made and not yet destroyed, by kind.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, Final

from thunk.backends.cpu.onednn import api
from thunk.backends.cpu.onednn.codes import CPU_ENGINE, IN_ORDER

live: Final[Counter[str]] = Counter()


class Handle:
    """A library object that belongs to us; `kind` names the C functions that make and end it."""

    __slots__ = ("__weakref__", "_destroy", "kind", "pointer")

    def __init__(self, kind: str, pointer: int) -> None:
        self.kind = kind
        self.pointer = pointer
        self._destroy: Any = api.function(f"{kind}_destroy")
        live[kind] += 1

    @property
    def _as_parameter_(self) -> int:
        return self.pointer

    def __del__(self) -> None:
        self._destroy(self.pointer)
        live[self.kind] -= 1


def made(kind: str, maker: str, *arguments: Any, about: str = "") -> Handle:
    """A handle of `kind` out of the function `maker`."""
    return Handle(kind, api.created(maker, *arguments, about=about))


@cache
def engine() -> int:
    """The one engine; it lives as long as the process."""
    return api.created("engine_create", CPU_ENGINE, 0)


@cache
def stream() -> int:
    """The one stream: on a CPU it only carries the call."""
    return api.created("stream_create", engine(), IN_ORDER)
