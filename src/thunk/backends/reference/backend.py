"""Enters: graphs. Leaves: executables that interpret them rule by rule, under the name "reference".

Invariant: nothing is compiled and nothing is fused; a run is what eager mode would do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from thunk.base.errors import recorded_at
from thunk.dispatch.call import call
from thunk.dispatch.state import no_grad_recording
from thunk.ir.graph import Graph, Scalar, Value
from thunk.ir.printer import print_graph
from thunk.lazy.eager import eager
from thunk.runtime.backend import Donated, Number, register_backend
from thunk.runtime.launch import FAILURES_KEPT, Failures, Immediate
from thunk.runtime.storage import Bytes, Storage
from thunk.runtime.tensors import empty_tensor, new_tensor


class Interpreted:
    """A graph that runs node by node."""

    def __init__(self, graph: Graph, failures: Failures) -> None:
        self.graph = graph
        self._failures = failures

    def run(self, inputs: Sequence[Bytes], numbers: Sequence[Number]) -> list[Bytes]:
        """Evaluate every node in order."""
        values: dict[Value, Any] = {
            value: new_tensor(Storage(data), value.spec)
            for value, data in zip(self.graph.inputs, inputs, strict=True)
        }
        with eager(), no_grad_recording():
            for node in self.graph.nodes:
                args = tuple([_argument(each, values, numbers) for each in node.args])
                try:
                    result = call(node.op, args)
                except Exception as error:
                    recorded_at(error, node.where)
                    raise
                results = result if isinstance(result, (tuple, list)) else (result,)
                values.update(zip(node.outputs, results, strict=True))
            return [_own_memory(values[each], each) for each in self.graph.outputs]

    def prepare(self, inputs: Sequence[Bytes], numbers: Sequence[Number]) -> Immediate:
        """A launch that runs when it is started."""
        taken, given = list(inputs), list(numbers)
        return Immediate(lambda: self.run(taken, given), self._failures)

    def launch(self, inputs: Sequence[Bytes], numbers: Sequence[Number]) -> Immediate:
        """A launch that is over."""
        launch = self.prepare(inputs, numbers)
        launch.start()
        return launch

    def text(self) -> str:
        """The graph itself."""
        return print_graph(self.graph)


def _argument(value: Any, values: dict[Value, Any], numbers: Sequence[Number]) -> Any:
    if isinstance(value, Value):
        return values[value]
    if isinstance(value, Scalar):
        return numbers[value.index]
    if isinstance(value, tuple):
        return tuple([_argument(each, values, numbers) for each in value])
    return value


def _own_memory(tensor: Any, value: Value) -> Bytes:
    """Fresh memory with the values laid out as the output's spec asks."""
    fresh = empty_tensor(value.spec.fresh())
    fresh.copy_(tensor)
    data: Bytes = fresh._storage.data
    return data


class ReferenceBackend:
    """Graphs interpreted by the NumPy rules."""

    name = "reference"

    def __init__(self) -> None:
        self._failures: Failures = deque(maxlen=FAILURES_KEPT)

    def compile(self, graph: Graph, donated: Donated) -> Interpreted:
        """Nothing to do before the run."""
        return Interpreted(graph, self._failures)

    def wait(self) -> None:
        """Launches are over already; raise the first failure nobody was told of."""
        if self._failures:
            raise self._failures.popleft()


register_backend(ReferenceBackend())
