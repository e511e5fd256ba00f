"""Builds graphs call by call and runs them on the reference rules, the compiler's oracle."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy

import thunk  # noqa: F401  (declares every operator)
from thunk.backends.cpu.backend import cpu
from thunk.backends.cpu.blocks import blocks
from thunk.backends.reference.kernel import convert, rules
from thunk.compiler.memory import verify_plan
from thunk.compiler.schedule import verify_schedule
from thunk.ir.coerce import bound_default
from thunk.ir.graph import Graph, Node, Scalar, Value
from thunk.ir.verify import verify
from thunk.ops.registry import find_op
from thunk.runtime.storage import Storage, allocate, array_of
from thunk.types.dtype import from_numpy_dtype
from thunk.types.spec import TensorSpec, make_spec

GUARD, GUARDED = 0xA5, 256


class Recorder:
    """A graph that grows by calls."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.arrays: list[numpy.ndarray] = []
        self.numbers: list[Any] = []

    def input(self, array: numpy.ndarray, strides: tuple[int, ...] | None = None) -> Value:
        """An input that holds `array`, laid out with `strides` (elements) if given."""
        spec = make_spec(array.shape, from_numpy_dtype(array.dtype))
        if strides is not None:
            spec = TensorSpec(spec.shape, spec.dtype, strides)
        memory = allocate(spec.numel * spec.dtype.itemsize)
        array_of(Storage(memory), spec)[...] = array
        self.arrays.append(memory)
        return self.graph.add_input(spec)

    def number(self, value: Any) -> Scalar:
        """A runtime number."""
        self.numbers.append(value)
        return self.graph.add_scalar(type(value))

    def call(self, name: str, *args: Any) -> Any:
        """Record `aten::name`; missing arguments take their defaults."""
        op = find_op(name if "::" in name else f"aten::{name}")
        assert op is not None, name
        frozen = [_frozen(each) for each in args]
        for argument in op.schema.arguments[len(frozen) :]:
            assert not argument.is_required, f"{name}: {argument.name} is missing"
            frozen.append(_frozen(_default(argument)))
        specs = op.spec(*[self._seen(each) for each in frozen])
        several = not isinstance(specs, TensorSpec)
        where = f"test.py:{len(self.graph.nodes) + 1}"
        node = self.graph.add(
            op, tuple(frozen), tuple(specs) if several else (specs,), where
        )
        return node.outputs if several else node.outputs[0]

    def _seen(self, value: Any) -> Any:
        if isinstance(value, Value):
            return value.spec
        if isinstance(value, Scalar):
            return self.numbers[value.index]
        if isinstance(value, tuple):
            return tuple([self._seen(each) for each in value])
        return value

    def outputs(self, *values: Value) -> Graph:
        """Finish: these values are the results."""
        self.graph.outputs = list(values)
        return self.graph


def _default(argument: Any) -> Any:
    return bound_default(argument)


def _frozen(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple([_frozen(each) for each in value])
    return value


def reference(recorder: Recorder) -> list[numpy.ndarray]:
    """The outputs by the reference rules, node by node."""
    graph = recorder.graph
    memory: dict[Value, Any] = dict(zip(graph.inputs, recorder.arrays, strict=True))

    def window(value: Value) -> numpy.ndarray:
        return array_of(Storage(memory[value.root]), value.spec)

    def argument(value: Any) -> Any:
        if isinstance(value, Value):
            return window(value)
        if isinstance(value, Scalar):
            return recorder.numbers[value.index]
        if isinstance(value, tuple) and any(isinstance(each, (Value, tuple)) for each in value):
            return [argument(each) for each in value]
        return value

    for node in graph.nodes:
        if not node.op.view:
            _run(node, [argument(each) for each in node.args], memory)
    return [window(value).copy() for value in graph.outputs]


def _run(node: Node, args: list[Any], memory: dict[Value, Any]) -> None:
    specs = tuple([each.spec for each in node.outputs])
    several = len(node.op.schema.returns) > 1 or str(node.op.schema.returns[0].type) != "Tensor"
    with numpy.errstate(all="ignore"):
        result = rules[node.op.full_name](specs if several else specs[0], *args)
    for value, each in zip(node.outputs, result if several else [result], strict=True):
        spec: Any = value.spec
        if spec is None:
            continue
        memory[value] = allocate(spec.numel * spec.dtype.itemsize)
        if each is not None and spec.numel:
            array = numpy.asarray(each)
            if array.dtype != spec.dtype.numpy:
                array = convert(array, spec.dtype.numpy)
            array_of(Storage(memory[value]), spec)[...] = array


def compiled(recorder: Recorder) -> tuple[list[numpy.ndarray], Any]:
    """The outputs by the CPU backend, and its program."""
    program = cpu.compile(recorder.graph, frozenset())
    guards: list[numpy.ndarray] = []
    with patch.object(blocks, "take", lambda nbytes: _between_guards(nbytes, guards)):
        buffers = program.run(recorder.arrays, recorder.numbers)
    assert all((each == GUARD).all() for each in guards), "written beyond an output's memory"
    found = []
    for value, buffer in zip(recorder.graph.outputs, buffers, strict=True):
        found.append(array_of(Storage(buffer), value.spec.fresh()))
    return found, program


def _between_guards(nbytes: int, guards: list[numpy.ndarray]) -> numpy.ndarray:
    """Memory of an output that nobody may write beyond."""
    block = numpy.full(nbytes + 63 + 2 * GUARDED, GUARD, numpy.uint8)
    start = GUARDED + -(block.ctypes.data + GUARDED) % 64
    guards += [block[:start], block[start + nbytes :]]
    return block[start : start + nbytes]


def agree(recorder: Recorder, tolerance: float = 1e-5) -> Any:
    """Compile, verify, run and compare with the reference; returns the program."""
    verify(recorder.graph)
    expected = reference(recorder)
    found, program = compiled(recorder)
    verify_schedule(program.schedule)
    verify_plan(program.plan)
    for got, wanted in zip(found, expected, strict=True):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        if wanted.dtype.kind in "fV":
            near = tolerance if wanted.dtype.itemsize >= 4 else max(tolerance, 1e-2)
            numpy.testing.assert_allclose(
                got.astype(numpy.float64), wanted.astype(numpy.float64), rtol=near, atol=near
            )
        else:
            numpy.testing.assert_array_equal(got, wanted)
    return program


def agree_without_call_back(tolerance: float, name: str, *args: Any) -> None:
    """One call is compiled whole, and equal to the rule; arrays become inputs."""
    recorder = Recorder()
    given = [recorder.input(each) if isinstance(each, numpy.ndarray) else each for each in args]
    found = recorder.call(name, *given)
    outputs = found if isinstance(found, tuple) else (found,)
    recorder.outputs(*[each for each in outputs if each.spec is not None])
    assert not agree(recorder, tolerance).schedule.fallbacks
