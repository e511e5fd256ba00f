"""Enters: a call whose inputs need gradients. Leaves: its results with an `OpNode` behind them.

Invariant: one kernel serves every operator; what it saves and how it goes back comes from the
operator's `Gradient` records alone.
"""

from __future__ import annotations

from typing import Any

from thunk.autograd.anomaly import user_stack
from thunk.autograd.edges import edge_of
from thunk.autograd.fit import fit
from thunk.autograd.meta import Edge, requires_grad
from thunk.autograd.names import backward_name
from thunk.autograd.node import Grads, Node, set_history
from thunk.autograd.saved import FREED, SavedValue
from thunk.base.errors import NoFormulaError, NotDifferentiableError
from thunk.dispatch.call import redispatch, tensors_in
from thunk.dispatch.infer import specs_in
from thunk.dispatch.keys import AUTOGRAD_KEYS, KeySet
from thunk.dispatch.state import no_grad_recording, state
from thunk.ir.opdef import Gradient, MissingGradient, NoGradient, OpDef
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase


class OpNode(Node):
    """The backward step of one recorded operator."""

    __slots__ = ("input_specs", "op", "saved_args", "saved_results", "slots")

    def __init__(self, op: OpDef, args: tuple[Any, ...], outputs: list[TensorSpec]) -> None:
        edges: list[Edge | None] = []
        specs: list[TensorSpec | None] = []
        self.slots: dict[str, tuple[int, int | None]] = {}
        for argument, value in zip(op.schema.arguments, args, strict=True):
            if isinstance(value, TensorBase):
                self.slots[argument.name] = (len(edges), None)
                edges.append(edge_of(value))
                specs.append(value._spec)
            elif isinstance(value, (list, tuple)) and any(True for _ in tensors_in(value)):
                self.slots[argument.name] = (len(edges), len(value))
                for each in value:
                    edges.append(None if each is None else edge_of(each))
                    specs.append(None if each is None else each._spec)
        super().__init__(tuple(edges), outputs)
        self.op = op
        self.input_specs = specs
        self.saved_args: dict[str, Any] | None = None
        self.saved_results: list[SavedValue | None] | None = None

    def name(self) -> str:
        first = self.input_specs[0] if self.input_specs else None
        return backward_name(self.op, self.slots, 0 if first is None else len(first.shape))

    def save(self, args: tuple[Any, ...], results: list[Any]) -> None:
        """Keep exactly what the formulas that will run read."""
        wanted: set[str] = set()
        for rule in self.rules():
            if self._is_needed(rule):
                wanted.update(rule.reads)
        self.saved_args = {
            argument.name: _save(value)
            for argument, value in zip(self.op.schema.arguments, args, strict=True)
            if argument.name in wanted
        }
        self.saved_args.update(
            {
                f"{argument.name}_spec": specs_in(value)
                for argument, value in zip(self.op.schema.arguments, args, strict=True)
                if f"{argument.name}_spec" in wanted
            }
        )
        reads_results = any(name.startswith("result") for name in wanted)
        self.saved_results = [
            SavedValue(result, index)
            if reads_results and _reads_result(wanted, index) and isinstance(result, TensorBase)
            else None
            for index, result in enumerate(results)
        ]

    def rules(self) -> tuple[Gradient, ...]:
        rule = self.op.gradient
        return rule if isinstance(rule, tuple) else ()

    def _is_needed(self, rule: Gradient) -> bool:
        return any(any(self._edges_of(name)) for name in rule.inputs)

    def _edges_of(self, name: str) -> list[bool]:
        slot = self.slots.get(name)
        if slot is None:
            return [False]
        start, count = slot
        return [edge is not None for edge in self.edges[start : start + (count or 1)]]

    def apply(self, grads: Grads) -> Grads:
        if self.saved_args is None:
            raise RuntimeError(FREED)
        if isinstance(self.op.gradient, MissingGradient):
            raise NotDifferentiableError(
                f"{self.op.name}: expected a gradient, got none: {self.op.gradient.reason}"
            )
        results: Grads = [None] * len(self.edges)
        values = _Reads(self, grads)
        covered: set[str] = set()
        for rule in self.rules():
            covered.update(rule.inputs)
            if self._is_needed(rule):
                self._run(rule, values, results)
        for name, (start, count) in self.slots.items():
            if name not in covered and any(self.edges[start : start + (count or 1)]):
                raise NoFormulaError(
                    f"{self.op.name}: expected a gradient for argument '{name}', got none; "
                    f"detach() it"
                )
        return results

    def _run(self, rule: Gradient, values: _Reads, results: Grads) -> None:
        needed = tuple([any(self._edges_of(name)) for name in rule.inputs])
        found = rule.formula(*[values[name] if name != "needed" else needed for name in rule.reads])
        if len(rule.inputs) == 1:
            found = (found,)
        for name, value in zip(rule.inputs, found, strict=True):
            start, count = self.slots.get(name, (0, 0))
            if name not in self.slots or value is None:
                continue
            parts = [value] if count is None else list(value)
            for position, part in enumerate(parts, start):
                spec = self.input_specs[position]
                if part is not None and spec is not None and self.edges[position] is not None:
                    results[position] = fit(part, spec)

    def release(self) -> None:
        args, results = self.saved_args or {}, self.saved_results or []
        holds_values = any(_is_saved(v) for v in args.values()) or any(results)
        # A node that kept no tensor can run again, as in PyTorch, where a number in the place of
        # a tensor is one.
        holds_values = holds_values or any(
            argument.type.base == "Tensor" and args.get(argument.name) is not None
            for argument in self.op.schema.arguments
        )
        if holds_values:
            self.saved_args = None
            self.saved_results = None


class _Reads:
    """Resolves a formula's parameter names."""

    def __init__(self, node: OpNode, grads: Grads) -> None:
        self._node = node
        self._grads = grads
        self._cache: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._cache:
            self._cache[name] = self._find(name)
        return self._cache[name]

    def _find(self, name: str) -> Any:
        node = self._node
        if name == "grad":
            return self._grad(0)
        if name == "grads":
            return list(self._grads)
        if name == "results":
            return tuple([self._result(i) for i in range(node.output_count)])
        if name.startswith("result_spec"):
            return node.output_specs[int(name[11:] or 0)]
        saved = node.saved_args
        assert saved is not None
        if name in saved:
            return _unsave(saved[name], node)
        if name.startswith("result"):
            return self._result(int(name[6:] or 0))
        if name.startswith("grad") and name[4:].isdigit():
            return self._grad(int(name[4:]))
        return None

    def _grad(self, index: int) -> Any:
        gradient = self._grads[index]
        if gradient is None:
            spec = self._node.output_specs[index]
            return t.zeros(spec.shape, dtype=spec.dtype, device=spec.device)
        return gradient

    def _result(self, index: int) -> Any:
        saved = (self._node.saved_results or [])[index]
        return None if saved is None else saved.unpack(self._node)


def autograd_kernel(op: OpDef, keys: KeySet, args: tuple[Any, ...]) -> Any:
    """Run `op` below autograd and, where gradients are wanted, put a node behind its results."""
    below = keys - AUTOGRAD_KEYS
    wanted = state.grad_enabled and not isinstance(op.gradient, NoGradient)
    if not wanted or not any(requires_grad(tensor) for tensor in tensors_in(args)):
        return redispatch(op, below, args)
    if op.decompose is None:
        result = redispatch(op, below, args)
    else:  # the node made here stands for the parts as well
        with no_grad_recording():
            result = redispatch(op, below, args)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    differentiable = [
        isinstance(each, TensorBase) and each._spec.dtype.is_inexact and index not in op.constants
        for index, each in enumerate(results)
    ]
    if not any(differentiable):
        return result
    node = OpNode(op, args, [
        each._spec if isinstance(each, TensorBase) else each for each in results
    ])  # fmt: skip
    if state.anomaly:
        node.trace = user_stack()
    node.save(args, results)
    for index, (each, flag) in enumerate(zip(results, differentiable, strict=True)):
        if flag:
            set_history(each, node, index)
    return result


def _save(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return SavedValue(value)
    if isinstance(value, (list, tuple)) and any(True for _ in tensors_in(value)):
        return [None if each is None else SavedValue(each) for each in value]
    return value


def _is_saved(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(each, SavedValue) for each in value)
    return isinstance(value, SavedValue)


def _unsave(value: Any, node: Node) -> Any:
    if isinstance(value, SavedValue):
        return value.unpack(node)
    if isinstance(value, list) and _is_saved(value):
        return [None if each is None else each.unpack(node) for each in value]
    return value


def _reads_result(wanted: set[str], index: int) -> bool:
    return "results" in wanted or f"result{index}" in wanted or (index == 0 and "result" in wanted)
