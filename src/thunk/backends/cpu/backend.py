"""Enters: graphs. Leaves: native programs, under the name "cpu".

Invariant: any graph compiles; what has no lowering calls back and is counted.
"""

from __future__ import annotations

from thunk.backends.cpu.flight import wait_all
from thunk.backends.cpu.llvm.terms import FUNCTIONS
from thunk.backends.cpu.lowering import TABLES
from thunk.backends.cpu.program import Program
from thunk.compiler.pipeline import run_passes
from thunk.compiler.schedule import schedule
from thunk.ir.graph import Graph
from thunk.runtime.backend import Donated, register_backend

assert TABLES


class CpuBackend:
    """Fused native kernels and library calls on this machine's processor."""

    name = "cpu"

    def __init__(self) -> None:
        self.fallbacks: dict[str, int] = {}

    def compile(self, graph: Graph, donated: Donated) -> Program:
        """A program that computes `graph`."""
        scheduled = schedule(run_passes(graph), frozenset(FUNCTIONS))
        for name, count in scheduled.fallbacks.items():
            self.fallbacks[name] = self.fallbacks.get(name, 0) + count
        return Program(scheduled, graph.scalars, donated)

    def wait(self) -> None:
        """Block until every launch is over; raise the first failure nobody was told of."""
        wait_all()


cpu = CpuBackend()
register_backend(cpu)
