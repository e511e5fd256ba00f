"""Backends that tell what the compiler did: for `with` blocks around recorded samples.

In: graphs of cuts. Out: how many programs there were, which operators called back, and which ran
at once while they were recorded.
"""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Any

from thunk.backends.cpu.llvm.terms import FUNCTIONS
from thunk.base.config import config
from thunk.compiler.pipeline import run_passes
from thunk.compiler.schedule import schedule
from thunk.ir.graph import Graph, Node, values_in
from thunk.lazy.metrics import counter_values
from thunk.runtime.backend import backend_named, register_backend

COMPLEX = " of complex numbers"


class Observer:
    """A backend of its own inside a `with` block."""

    name = ""

    def __init__(self) -> None:
        self.programs = 0
        self.called_back: Counter[str] = Counter()
        self.at_once: Counter[str] = Counter()
        self._override: Any = None

    def __enter__(self) -> Observer:
        register_backend(self)
        self._before = operators_counted()
        self._override = config.override(backend=self.name, interpret_first=False)
        self._override.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._override.__exit__(kind, error, trace)
        plain = Counter({name.removesuffix(COMPLEX): count
                         for name, count in self.called_back.items()})
        self.at_once = operators_counted() - self._before - plain

    def compile(self, graph: Graph, donated: frozenset[int]) -> Any:
        raise NotImplementedError

    def wait(self) -> None:
        """Runs are over when `run` returns."""


class Watched(Observer):
    """The CPU backend, watched."""

    name = "watched"

    def compile(self, graph: Graph, donated: frozenset[int]) -> Any:
        program: Any = backend_named("cpu").compile(graph, donated)
        self.programs += 1
        self.called_back.update(program.schedule.fallbacks)
        return program


class Counted(Observer):
    """Lowers a graph to see what would call back, and computes it with the reference rules."""

    name = "counted"

    def compile(self, graph: Graph, donated: frozenset[int]) -> Any:
        complex_too = {node.op.full_name for node in graph.nodes if _has_complex(node)}
        fallbacks = schedule(run_passes(graph), frozenset(FUNCTIONS)).fallbacks
        for name, count in fallbacks.items():
            self.called_back[f"{name}{COMPLEX}" if name in complex_too else name] += count
        return backend_named("reference").compile(graph, donated)


def _has_complex(node: Node) -> bool:
    specs = [each.spec for each in (*node.outputs, *values_in(node.args))]
    return any(spec is not None and spec.dtype.is_complex for spec in specs)


def operators_counted() -> Counter[str]:
    """How often each operator was run at once, by its full name."""
    return Counter({name: value for name, value in counter_values().items() if "::" in name})
