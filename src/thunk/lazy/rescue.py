"""Enters: a run that failed. Leaves: what of it could be computed, operation by operation.

Invariant: an output gets its value only if nothing that it depends on failed or was overwritten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.base.errors import recorded_at
from thunk.dispatch.call import call
from thunk.dispatch.state import no_grad_recording
from thunk.ir.graph import Graph, Node, Scalar, Value
from thunk.lazy.eager import eager
from thunk.runtime.launch import FILLED, KEPT
from thunk.runtime.storage import Bytes, Storage
from thunk.runtime.tensors import empty_tensor, new_tensor


class Spoilt:
    """Stands for a value that cannot be computed. `kept`: its memory holds what it held before."""

    __slots__ = ("error", "kept")

    def __init__(self, error: BaseException, kept: bool = False) -> None:
        self.error = error
        self.kept = kept


def rescue(run: Any, why_spoilt: Callable[[Bytes], BaseException | None]) -> list[Spoilt | None]:
    """Fill the outputs of a failed run where that is possible; say of each whether it was."""
    graph: Graph = run.computation.graph
    left = {} if run.launch is None else run.launch.left()
    values: dict[Value, Any] = {}
    for position, (value, data) in enumerate(zip(graph.inputs, run.inputs, strict=True)):
        cause = why_spoilt(data)
        if cause is None and left.get(position, KEPT) is not KEPT:
            cause = run.error
        values[value] = new_tensor(Storage(data), value.spec) if cause is None else Spoilt(cause)
    with eager(), no_grad_recording():
        for node in graph.nodes:
            values.update(zip(node.outputs, _results(node, values, run.numbers), strict=True))
        places = {id(data): position for position, data in enumerate(run.inputs)}
        found = []
        for value, memory in zip(graph.outputs, run.outputs, strict=True):
            place = places.get(id(memory))
            state = None if place is None else left.get(place, KEPT)
            found.append(_filled(values[value], value, memory, state))
        return [_stored(each, memory) for each, memory in zip(found, run.outputs, strict=True)]


def _results(node: Node, values: dict[Value, Any], numbers: Any) -> Any:
    """The node's results; all spoilt if an operand is, or if the operation fails."""
    causes = [values[each] for each in node.operands if isinstance(values[each], Spoilt)]
    if causes:
        return [causes[0]] * len(node.outputs)
    try:
        result = call(node.op, tuple([_argument(each, values, numbers) for each in node.args]))
    except Exception as error:
        recorded_at(error, node.where)
        return [Spoilt(error)] * len(node.outputs)
    return result if isinstance(result, (tuple, list)) else [result]


def _argument(value: Any, values: dict[Value, Any], numbers: Any) -> Any:
    if isinstance(value, Value):
        return values[value]
    if isinstance(value, Scalar):
        return numbers[value.index]
    if isinstance(value, tuple):
        return tuple([_argument(each, values, numbers) for each in value])
    return value


def _filled(result: Any, value: Value, memory: Bytes, state: Any) -> Any:
    """The contents for `memory`, None if they are there, or why there are none."""
    if state is FILLED:
        return None
    if isinstance(result, Spoilt):
        return Spoilt(result.error, state is KEPT)
    fresh = empty_tensor(value.spec.fresh())
    fresh.copy_(result)
    return fresh._storage.data


def _stored(result: Any, memory: Bytes) -> Spoilt | None:
    """Memory is written when everything is computed: it may be an input's."""
    if isinstance(result, Spoilt):
        return result
    if result is not None:
        memory[...] = result
    return None
