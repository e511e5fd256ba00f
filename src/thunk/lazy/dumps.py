"""Enters: the graphs of cuts. Leaves: them as text, in a file too if an option asks for it.

Invariant: a file is written only when `lazy_save_graphs_file` names one; every graph in it stands
under its number, cause and hash, and equal graphs have equal hashes in every process.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import threading
from collections.abc import Callable
from typing import Final

from thunk.base.config import config
from thunk.ir.dot import graph_to_dot
from thunk.ir.graph import Graph
from thunk.ir.printer import print_graph
from thunk.lazy.metrics import count

_lock: Final = threading.Lock()
_numbers: Final = itertools.count()


def graph_hash(graph: Graph) -> str:
    """A name for what the graph computes; where it was recorded does not matter."""
    return hashlib.sha256(print_graph(graph, with_lines=False).encode()).hexdigest()


def graph_text(graph: Graph, form: str, backend_text: Callable[[], str] | None = None) -> str:
    """The graph as "text", as "dot", or as the backend's program."""
    if form == "text":
        return print_graph(graph)
    if form == "dot":
        return graph_to_dot(graph)
    if form == "backend":
        if backend_text is None:
            raise RuntimeError("dump_ir: expected a compiled graph, got one without a program")
        return backend_text()
    raise RuntimeError(f"dump_ir: expected 'text', 'dot' or 'backend', got {form!r}")


def save_graph(
    graph: Graph, cause: str = "", backend_text: Callable[[], str] | None = None
) -> None:
    """Append the graph to the file that the option names, in the form that the option names."""
    path = config.lazy_save_graphs_file
    if not path:
        return
    body = graph_text(graph, config.lazy_save_graphs_format, backend_text)
    with _lock:
        head = f"# graph {next(_numbers)} of process {os.getpid()}, {graph_hash(graph)}"
        with open(path, "a", encoding="utf-8") as file:
            file.write("\n".join([head, *(f"# {line}" for line in cause.splitlines()), body, ""]))
    count("SavedGraphs")
