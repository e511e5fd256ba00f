"""`torch.compiler`: what code asks of a compiler. Execution is lazy already, so nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from thunk.compiling import compile

Function = TypeVar("Function", bound=Callable[..., Any])


def is_compiling() -> bool:
    """Whether Python code is being turned into a graph once and for all: never here."""
    return False


is_dynamo_compiling = is_compiling
is_exporting = is_compiling


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Keep a function out of compilation: it is run as Python anyway."""
    return _same if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """Let a function appear in graphs as it is."""
    return fn


def substitute_in_graph(*args: Any, **kwargs: Any) -> Callable[[Function], Function]:
    """Name a replacement for a function that cannot be compiled: none is needed."""
    return _same


def assume_constant_result(fn: Function) -> Function:
    """Promise that a function returns the same each time."""
    return fn


def _same(fn: Function) -> Function:
    return fn


def reset() -> None:
    """Forget what was compiled by `compile`."""


def cudagraph_mark_step_begin() -> None:
    """Mark the beginning of a step for CUDA graphs: there are none."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The compilers that `compile` may be told to use."""
    return ["thunk"]


def set_stance(*args: Any, **kwargs: Any) -> Any:
    """How eager to compile; accepted, since tracing decides by itself."""
    return _Nothing()


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None

    def __call__(self, fn: Function) -> Function:
        return fn


__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
    "substitute_in_graph",
]  # fmt: skip
