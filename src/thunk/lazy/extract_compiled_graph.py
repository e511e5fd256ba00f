"""Enters: a module and example inputs. Leaves: a function that runs its graph and traces nothing.

Invariant: parameters and buffers are read, and written, where the module has them; arguments that
the module writes to are written to in each call.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.lazy.compiled import computation_of
from thunk.lazy.computation import piece_of_nodes, run_on
from thunk.lazy.eager import execution
from thunk.lazy.metrics import counter_value
from thunk.lazy.node import TraceNode
from thunk.lazy.trace import traces
from thunk.lazy.watch import fallback_ops
from thunk.ops.registry import t


def get_fallback_ops() -> list[str]:
    """The operators that ran by reference rules, and how often, as "aten::name=count"."""
    return [f"{name}={counter_value(name)}" for name in fallback_ops()]


def extract_compiled_graph(
    model: Callable[..., Any], example_inputs: Sequence[Any]
) -> Callable[..., tuple[Any, ...]]:
    """Trace `model` once; what comes back runs the compiled graph.

    It is for arguments of the examples' shapes and dtypes, and returns a tuple. A module is traced
    on a copy, so the examples and the module stay as they are.
    """
    with execution(True), no_grad_recording():
        return _extracted(model, example_inputs)


def _extracted(model: Callable[..., Any], examples: Sequence[Any]) -> Callable[..., Any]:
    trace = traces.current
    trace.materialise()
    traced = copy.deepcopy(model)
    arguments = [t.clone(each.detach()) for each in examples]
    held = _tensors_of(model)
    copies = _tensors_of(traced)
    trace.materialise()
    generation, before = trace.generation, get_fallback_ops()
    for each in (*arguments, *copies):
        trace.node_of(each, False)
    results = traced(*arguments)
    flat = list(results) if isinstance(results, (tuple, list)) else [results]
    _refuse_fallbacks(before, trace.generation == generation)
    homes = [*arguments, *copies]
    written = [place for place, each in enumerate(homes) if each._storage.trace is trace]
    wanted: dict[TraceNode, int] = {}
    returns = [wanted.setdefault(trace.node_of(each, False), len(wanted)) for each in flat]
    stores = [
        (place, wanted.setdefault(trace.node_of(homes[place], False), len(wanted)))
        for place in written
    ]
    piece = piece_of_nodes(trace, list(wanted))
    by_memory = {id(each._storage._data): place for place, each in enumerate(homes)}
    takes = [by_memory.get(id(data), data) for data in piece.inputs]
    computation = computation_of(piece.graph, {})
    first = run_on(computation, [_tensor(each, homes) for each in takes], piece.numbers)
    _refuse_fallbacks(before, True)
    del first
    trace.materialise()
    return _runner(computation, takes, piece.numbers, returns, stores, held, len(arguments))


def _tensors_of(model: Any) -> list[Any]:
    """Parameters and buffers, each once."""
    if not hasattr(model, "parameters"):
        return []
    found = {id(each): each for each in (*model.parameters(), *model.buffers())}
    return list(found.values())


def _tensor(source: Any, homes: Sequence[Any]) -> Any:
    if isinstance(source, int):
        return homes[source]
    return source


def _refuse_fallbacks(before: list[str], whole: bool) -> None:
    after = [each for each in get_fallback_ops() if each not in before]
    if after or not whole:
        reason = ",".join(after) or "a value that was needed while tracing"
        raise RuntimeError(f"Fail to extract the compiled graph because of fallback: {reason}")


def _runner(
    computation: Any, takes: list[Any], numbers: Any, returns: list[int],
    stores: list[tuple[int, int]], held: list[Any], count: int,
) -> Callable[..., tuple[Any, ...]]:  # fmt: skip
    def compiled(*args: Any) -> tuple[Any, ...]:
        if len(args) != count:
            raise TypeError(f"expected {count} arguments as in the examples, got {len(args)}")
        homes = [*args, *held]
        results = run_on(computation, [_tensor(each, homes) for each in takes], numbers)
        with no_grad_recording():
            for place, output in stores:
                homes[place].copy_(results[output])
        return tuple([results[each] for each in returns])

    return compiled


__all__ = ["extract_compiled_graph", "get_fallback_ops"]
