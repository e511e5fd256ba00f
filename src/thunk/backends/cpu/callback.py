"""Enters: a node without a lowering. Leaves: its reference rule, run on the program's memory.

Invariant: operands are views of the program's buffers; results are written where the plan says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from thunk.backends.cpu.record import Record
from thunk.backends.reference.kernel import convert, rules
from thunk.compiler.access import Access, Buffer
from thunk.compiler.lowering import CallBack
from thunk.dispatch.call import call
from thunk.dispatch.state import no_grad_recording
from thunk.ir.graph import Node, Scalar, Value
from thunk.lazy.eager import eager
from thunk.runtime.tensors import array_from, tensor_like
from thunk.types.spec import TensorSpec

Places = dict[Buffer, tuple[int, int]]


class StepFailed(RuntimeError):
    """A library refused to run."""


class BackCall:
    """One step that calls back."""

    def __init__(self, step: CallBack, places: Places) -> None:
        self.node: Node = step.node
        self.access = step.access
        self.places = places
        self.targets: dict[int, tuple[TensorSpec, Buffer]] = {
            value.index: (value.spec, buffer) for value, buffer in zip(step.results, step.writes)
        }

    def run(self, record: Record, kinds: Sequence[type]) -> None:
        """Compute the node on a run's memory."""

        def argument(value: Any) -> Any:
            if isinstance(value, Value):
                return self._window(record, self.access[value], value.spec)
            if isinstance(value, Scalar):
                word = record.numbers[value.index : value.index + 1]
                return kinds[value.index](
                    word.view(numpy.float64)[0] if value.kind is float else word[0]
                )
            if isinstance(value, tuple) and any(
                isinstance(each, (Value, tuple)) for each in value
            ):
                return [argument(each) for each in value]
            return value

        node = self.node
        if node.op.full_name not in rules:
            self._call(record, argument)
            return
        specs: Any = tuple([each.spec for each in node.outputs])
        several = len(node.op.schema.returns) > 1 or str(node.op.schema.returns[0].type) != "Tensor"
        with numpy.errstate(all="ignore"):
            result = rules[node.op.full_name](
                specs if several else specs[0], *[argument(value) for value in node.args]
            )
        results = list(result) if several else [result]
        for index, (spec, buffer) in self.targets.items():
            self._store(record, results[index], spec, buffer)

    def _call(self, record: Record, argument: Any) -> None:
        """An operator that is made of others runs op by op."""

        def tensor(value: Any) -> Any:
            if isinstance(value, Value):
                return tensor_like(argument(value).copy(), value.spec.fresh())
            if isinstance(value, tuple):
                return [tensor(each) for each in value]
            return argument(value)

        with eager(), no_grad_recording():
            found = call(self.node.op, tuple([tensor(each) for each in self.node.args]))
        results = found if isinstance(found, (tuple, list)) else [found]
        for index, (spec, buffer) in self.targets.items():
            self._store(record, array_from(results[index]), spec, buffer)

    def _store(self, record: Record, result: Any, spec: TensorSpec, buffer: Buffer) -> None:
        if result is None or spec.numel == 0:
            return
        array = numpy.asarray(result)
        if array.dtype != spec.dtype.numpy:
            array = convert(array, spec.dtype.numpy)
        access = Access(buffer, spec.dtype, spec.strides, spec.offset)
        self._window(record, access, spec)[...] = array

    def _window(self, record: Record, access: Access, spec: TensorSpec) -> Any:
        if 0 in spec.shape:
            return numpy.empty(spec.shape, spec.dtype.numpy)
        base, start = self.places[access.buffer]
        size = spec.dtype.itemsize
        return numpy.ndarray(
            spec.shape, spec.dtype.numpy, record.base(base).view(numpy.uint8),
            start + access.offset * size, tuple([stride * size for stride in access.strides]),
        )  # fmt: skip
