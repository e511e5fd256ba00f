"""`torch._dynamo`: what code asks of PyTorch's compiler of Python; it does not run here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from thunk.compat.names._dynamo import eval_frame
from thunk.compat.names._dynamo.eval_frame import OptimizedModule
from thunk.compat.names.compiler import allow_in_graph, disable, is_compiling, reset

config = SimpleNamespace(suppress_errors=False, cache_size_limit=8, recompile_limit=8)


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that changes nothing."""
    return lambda function: function


def graph_break(msg: str = "") -> None:
    """End a graph here: graphs end where values are needed."""


def mark_dynamic(tensor: Any, *args: Any, **kwargs: Any) -> None:
    """Expect a size to change."""


mark_static = maybe_mark_dynamic = mark_dynamic

__all__ = [
    "OptimizedModule", "allow_in_graph", "config", "disable", "eval_frame", "graph_break",
    "is_compiling", "mark_dynamic", "mark_static", "maybe_mark_dynamic", "optimize", "reset",
]  # fmt: skip
