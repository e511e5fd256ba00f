"""Enters: graphs of cuts. Leaves: `Computation`, a graph that runs, one for all equal graphs.

Invariant: equal graphs with equal donations share a computation as long as the cache keeps it,
whatever path recorded them. A small graph is interpreted the first time; code is generated for what
comes again.
"""

from __future__ import annotations

import hashlib
import itertools
import weakref
from collections.abc import Mapping, Sequence
from time import perf_counter, thread_time
from typing import Any, Final

from thunk.base.config import config
from thunk.ir.graph import Graph
from thunk.ir.printer import print_graph
from thunk.lazy.cache import Cache, computation_cache
from thunk.lazy.dumps import save_graph
from thunk.lazy.metrics import count, observe
from thunk.runtime.backend import Executable, backend_named
from thunk.runtime.launch import Launch
from thunk.runtime.storage import Bytes

# Operators that have one right result, bit for bit, whoever computes them.
EXACT: Final = frozenset({
    "add", "sub", "rsub", "mul", "div", "neg", "abs", "sign", "sqrt", "relu", "clamp", "maximum",
    "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_not", "logical_and", "logical_or",
    "logical_xor", "bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor", "where", "fill",
    "copy", "clone", "relayout", "full", "zeros", "ones", "empty", "arange", "zeros_like",
    "ones_like", "full_like", "empty_like", "eye", "cat", "stack", "index_select", "gather",
    "_index", "_to_copy", "as_strided_scatter", "select_scatter", "slice_scatter", "masked_fill",
    "tril", "triu", "flip", "roll", "repeat", "with_history", "isnan", "isinf", "isfinite",
    "floor", "ceil", "trunc", "round",
})  # fmt: skip
_clock: Final = itertools.count(1)
SMALL_NODES: Final = 32
SMALL_BYTES: Final = 1 << 16


class Computation:
    """A graph and what runs it. `runs` counts runs, those that are under way included."""

    __slots__ = (
        "__weakref__", "backend", "donated", "executable", "graph", "interpreted", "name", "nodes",
        "runs", "used",
    )  # fmt: skip

    def __init__(self, graph: Graph, donated: Mapping[int, int], name: str) -> None:
        self.graph = graph
        self.donated = donated
        self.name = name
        self.backend = config.backend
        self.nodes = len(graph.nodes)
        self.runs = 0
        self.used = 0  # when, in runs of any
        self.executable: Executable | None = None
        self.interpreted = config.interpret_first and _is_small(graph)

    @property
    def interprets(self) -> bool:
        """Whether the next run is an interpreter's, which computes at once."""
        return self.executable is None and self.interpreted and not self.runs

    def run(self, inputs: Sequence[Bytes], numbers: Sequence[Any]) -> list[Bytes]:
        """The outputs' memory, filled."""
        self.used = next(_clock)
        executable = self.executable
        if executable is None:
            if self.interprets:
                interpreter = backend_named("reference").compile(self.graph, frozenset())
                outputs = interpreter.run(inputs, numbers)
                count("Interpreted")
                self.runs += 1
                return outputs
            executable = self.compiled()
        outputs = executable.run(inputs, numbers)
        self.runs += 1
        return outputs

    def prepare(self, inputs: Sequence[Bytes], numbers: Sequence[Any]) -> Launch:
        """A run that is ready to start."""
        self.used = next(_clock)
        executable = self.executable
        if executable is None:
            executable = self.compiled()
        self.runs += 1
        return executable.prepare(inputs, numbers)

    def compiled(self) -> Executable:
        """What the backend makes of the graph."""
        found = self.executable
        if found is not None:
            return found
        count("UncachedCompile")
        started, worked = perf_counter(), thread_time()
        found = backend_named(self.backend).compile(self.graph, self.donated)
        observe("CompileTime", perf_counter() - started, "s")
        observe("CompileProcessorTime", thread_time() - worked, "s")
        observe("TensorsGraphSize", self.nodes)
        if config.lazy_save_graphs_file:
            save_graph(self.graph, f"compiled for {self.backend}", found.text)
        self.executable = found
        if keep(self):
            return found
        self.executable = None  # a cache of no size keeps nothing
        return found


def _is_small(graph: Graph) -> bool:
    """Whether to interpret is quicker, and gives the bits that compiled code gives."""
    if len(graph.nodes) > SMALL_NODES:
        return False
    if not all(node.op.view or node.op.name in EXACT for node in graph.nodes):
        return False
    values = [*graph.inputs, *[each for node in graph.nodes for each in node.outputs]]
    return all(
        each.spec is None or each.spec.numel * each.spec.dtype.itemsize <= SMALL_BYTES
        for each in values
    )


def _forget(name: str, computation: Computation) -> None:
    """Plans may hold the computation still; its code goes."""
    computation.executable = None


# Computations that plans hold, compiled or not.
_alive: Final[weakref.WeakValueDictionary[str, Computation]] = weakref.WeakValueDictionary()
computations: Final[Cache[str, Computation]] = computation_cache(_forget)


def _make_anew() -> None:
    """Code was made for other options; plans hold the computations still."""
    for each in list(_alive.values()):
        each.executable = None


for _name, _option in config.options().items():
    if _option.changes_code:
        config.watch(_name, _make_anew)


def name_of(graph: Graph, donated: Mapping[int, int]) -> str:
    """A name that graphs share if they compute the same in the same way."""
    text = f"{config.backend} {sorted(donated.items())}\n{print_graph(graph, with_lines=False)}"
    return hashlib.sha256(text.encode()).hexdigest()


def computation_of(graph: Graph, donated: Mapping[int, int]) -> Computation:
    """The one computation of this graph."""
    name = name_of(graph, donated)
    known = computations.get(name) or _alive.get(name)
    if known is None:
        known = _alive[name] = Computation(graph, donated, name)
    return known


def keep(computation: Computation) -> bool:
    """Put a computation that was compiled into the cache; whether it stays there.

    Runs do not touch the cache; which computations were used is found out here.
    """
    for each in sorted(computations.inspect(), key=lambda each: each.value.used):
        computations.get(each.key)
    nbytes = _bytes_of(computation)
    computations.put(computation.name, computation, nbytes)
    return computation.name in computations


_BYTES_OF_NODE: Final = 4096  # of code, tables and Python objects, about


def _bytes_of(computation: Computation) -> int:
    return computation.nodes * _BYTES_OF_NODE + sum(
        each.spec.numel * each.spec.dtype.itemsize
        for node in computation.graph.nodes for each in node.outputs
        if not node.operands and each.spec is not None
    )  # fmt: skip
