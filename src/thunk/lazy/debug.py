"""Enters: pending tensors. Leaves: what will compute them, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.lazy.compiled import computation_of
from thunk.lazy.computation import piece_of
from thunk.lazy.dumps import graph_text


def render_ir_graph(tensors: Sequence[Any]) -> str:
    """The graph of `tensors` in the dot language."""
    return dump_ir(tensors, "dot")


def dump_ir(tensors: Sequence[Any], ir_format: str) -> str:
    """The graph of `tensors` as "text", as "dot", or as the program of the "backend"."""
    graph = piece_of(tensors).graph
    return graph_text(graph, ir_format, lambda: computation_of(graph, {}).compiled().text())
