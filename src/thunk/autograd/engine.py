"""Enters: roots with gradients. Leaves: accumulated `.grad`s, or the gradients asked for.

Invariant: a node runs once, after everything that feeds it; the loop never recurses, so depth is
bounded by memory alone.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Sequence
from typing import Any

from thunk.autograd.anomaly import explain
from thunk.autograd.edges import AccumulateGrad, edge_of, run_tensor_hooks
from thunk.autograd.meta import Edge, requires_grad
from thunk.autograd.node import Grads, Node
from thunk.dispatch.state import no_grad_recording, state
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase


class Running(threading.local):
    """The backward passes that this thread is in, the innermost last."""

    def __init__(self) -> None:
        self.passes: list[Any] = []


running = Running()


class Pass:
    """One backward pass."""

    def __init__(self, keep_graph: bool, captures: dict[Edge, int] | None) -> None:
        self.keep_graph = keep_graph
        self.captures = captures
        self.captured: dict[Edge, Any] = {}
        self.buffers: dict[Node, Grads] = {}
        self.waiting: dict[Node, int] = {}
        self.needed: set[Node] | None = None  # None: all
        self.executed: set[Node] | None = None
        self.ready: list[tuple[float, int, Node]] = []
        self._order = 0

    def run(self, roots: list[tuple[Edge, Any]], through_results: bool = True) -> None:
        """Run every node between the roots and the leaves or captured edges."""
        self._count(roots)
        if through_results and self.executed is not None and self.captures is not None:
            # A result that accumulates has its producer run, as in PyTorch, to no effect.
            self.executed |= {edge.node for edge in self.captures}
        for edge, gradient in roots:
            self._receive(edge, gradient)
        for node in {edge.node for edge, _ in roots}:
            if self.waiting[node] == 0:
                self._push(node)
        running.passes.append(self)
        try:
            while self.ready:
                node = heapq.heappop(self.ready)[2]
                self._run_node(node)
        finally:
            running.passes.pop()

    def visits(self, node: Node) -> bool:
        """Whether gradients come by `node` in this pass."""
        return node in self.waiting and (self.needed is None or node in self.needed)

    def _count(self, roots: list[tuple[Edge, Any]]) -> None:
        order: list[Node] = []
        stack = [edge.node for edge, _ in roots]
        self.waiting = dict.fromkeys(stack, 0)
        stack = list(self.waiting)
        while stack:
            node = stack.pop()
            order.append(node)
            for edge in node.edges:
                if edge is None:
                    continue
                if edge.node not in self.waiting:
                    self.waiting[edge.node] = 0
                    stack.append(edge.node)
                self.waiting[edge.node] += 1
        if self.captures is not None:
            targets = {edge.node for edge in self.captures}
            self.executed = _leading_to(targets, order)
            self.needed = self.executed | targets

    def _push(self, node: Node) -> None:
        self._order += 1
        heapq.heappush(self.ready, (-node.sequence, self._order, node))

    def _receive(self, edge: Edge, gradient: Any) -> None:
        buffer = self.buffers.get(edge.node)
        if buffer is None:
            buffer = self.buffers[edge.node] = [None] * edge.node.output_count
        old = buffer[edge.index]
        buffer[edge.index] = gradient if old is None else old + gradient

    def _run_node(self, node: Node) -> None:
        grads = self.buffers.pop(node, None) or [None] * node.output_count
        wanted = self.executed is None or node in self.executed
        results: Grads = [None] * len(node.edges)
        if any(gradient is not None for gradient in grads):
            grads = self._before(node, grads)
            if wanted and not (self.captures is not None and isinstance(node, AccumulateGrad)):
                results = self._apply(node, grads)
        for edge, gradient in zip(node.edges, results, strict=True):
            if edge is None:
                continue
            if gradient is not None and (self.needed is None or edge.node in self.needed):
                self._receive(edge, gradient)
            self.waiting[edge.node] -= 1
            if self.waiting[edge.node] == 0:
                self._push(edge.node)

    def _before(self, node: Node, grads: Grads) -> Grads:
        for index, hooks in (node.tensor_hooks or {}).items():
            # A result without a gradient beside others that have one: hooks see None.
            grads[index] = run_tensor_hooks(hooks, grads[index])
        if self.captures is not None:
            for index, gradient in enumerate(grads):
                edge = Edge(node, index)
                if gradient is not None and edge in self.captures:
                    if isinstance(node, AccumulateGrad):
                        gradient = run_tensor_hooks(node.variable._history.hooks, gradient)
                    self.captured[edge] = gradient
        for index, reference in (node.retained or {}).items():
            tensor = reference()
            if tensor is not None and grads[index] is not None:
                old = tensor._history.grad
                tensor._history.grad = grads[index] if old is None else old + grads[index]
        for hook in list((node.pre_hooks or {}).values()):
            replaced = hook(tuple(grads))
            if replaced is not None:
                grads = list(replaced) if isinstance(replaced, tuple) else [replaced]
        return grads

    def _apply(self, node: Node, grads: Grads) -> Grads:
        try:
            results = node.apply(grads)
        except Exception as error:
            explain(error, node)
            raise
        if state.anomaly and state.anomaly_checks_nan:
            _check_nan(node, results)
        for hook in list((node.post_hooks or {}).values()):
            replaced = hook(tuple(results), tuple(grads))
            if replaced is not None:
                results = list(replaced) if isinstance(replaced, tuple) else [replaced]
        if not self.keep_graph:
            node.release()
        return results


def _leading_to(targets: set[Node], order: list[Node]) -> set[Node]:
    """Nodes below which some target lies; a target counts only if another is below it."""
    users: dict[Node, list[Node]] = {}
    for node in order:
        for edge in node.edges:
            if edge is not None:
                users.setdefault(edge.node, []).append(node)
    found: set[Node] = set()
    stack = list(targets)
    while stack:
        for user in users.get(stack.pop(), ()):
            if user not in found:
                found.add(user)
                stack.append(user)
    return found


def _check_nan(node: Node, results: Grads) -> None:
    for index, gradient in enumerate(results):
        if gradient is not None and bool(t.any(t.isnan(gradient))):
            error = RuntimeError(
                f"Function '{node.name()}' returned nan values in its {index}th output."
            )
            explain(error, node)
            raise error


def start_gradient(tensor: Any, gradient: Any) -> Any:
    """The gradient that a backward pass starts with at `tensor`."""
    spec: TensorSpec = tensor._spec
    if gradient is None:
        if spec.numel != 1:
            raise RuntimeError(
                "backward: grad can be implicitly created only for scalar outputs; expected one "
                f"element, got shape {list(spec.shape)}; pass gradient= or reduce with .sum() or "
                ".mean()"
            )
        if not spec.dtype.is_floating_point:
            raise RuntimeError(
                "grad can be implicitly created only for real scalar outputs but got "
                f"{spec.dtype!r}"
            )
        return t.ones(spec.shape, dtype=spec.dtype, device=spec.device)
    if not isinstance(gradient, TensorBase):
        raise TypeError(
            "gradients can be either Tensors or None, but got "
            f"{type(gradient).__name__}; wrap it with tensor(...)"
        )
    if gradient._spec.shape != spec.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output has a shape of {list(gradient._spec.shape)} and "
            f"output has a shape of {list(spec.shape)}."
        )
    if gradient._spec.dtype.is_complex != spec.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype, "
            f"got {gradient._spec.dtype!r} and {spec.dtype!r}"
        )
    return gradient


def run_backward(
    tensors: Sequence[Any],
    gradients: Sequence[Any],
    *,
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Any] | None = None,
    accumulate: bool = True,
    allow_unused: bool = False,
) -> list[Any]:
    """Differentiate `tensors`; accumulate into leaves, or return the gradients of `inputs`."""
    roots: list[tuple[Edge, Any]] = []
    for index, (tensor, gradient) in enumerate(zip(tensors, gradients, strict=True)):
        edge = edge_of(tensor)
        if edge is None:
            raise RuntimeError(
                f"backward: element {index} of tensors does not require grad and does not have a "
                "grad_fn"
            )
        roots.append((edge, start_gradient(tensor, gradient)))
    wanted = None if inputs is None else _input_edges(inputs)
    captures = None if wanted is None else {e: i for i, e in enumerate(wanted) if e is not None}
    current = Pass(keep_graph, captures)
    with no_grad_recording(create_graph):
        current.run(roots, through_results=accumulate)
        if wanted is None or inputs is None:
            return []
        found = [None if edge is None else current.captured.get(edge) for edge in wanted]
        if accumulate:
            _accumulate_at(wanted, found)
    if not allow_unused and not accumulate and any(each is None for each in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )
    return found


def _accumulate_at(edges: list[Edge | None], found: list[Any]) -> None:
    for edge, gradient in zip(edges, found, strict=True):
        if gradient is not None and edge is not None:
            if not isinstance(edge.node, AccumulateGrad):
                continue  # a result that retains its gradient has it already
            hooks, edge.node.variable._history.hooks = edge.node.variable._history.hooks, None
            try:
                edge.node.apply([gradient])
            finally:
                edge.node.variable._history.hooks = hooks


def _input_edges(inputs: Sequence[Any]) -> list[Edge | None]:
    """Where to catch gradients; a view made without gradients passes none on and has no edge."""
    for tensor in inputs:
        if not requires_grad(tensor):
            raise RuntimeError(
                "One of the differentiated Tensors does not require grad; call requires_grad_()"
            )
    return [edge_of(tensor) for tensor in inputs]
