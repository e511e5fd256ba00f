"""Enters: a pending loss. Leaves: gradients in its leaves, by one step of the walk.

The engine differentiates a recorded graph once. What it recorded from there is a pure function of
the place, the loss and whether the graph is kept, so the next time one look-up goes to its end.
Accumulation into `.grad` is not part of it: it is done each time, as the leaves are then.
Invariant: what is remembered touched nothing but operators of this walk; hooks, other graphs and
custom functions go through the engine every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.autograd.edges import AccumulateGrad, accumulate, edge_of
from thunk.autograd.engine import Pass, running, start_gradient
from thunk.autograd.meta import Edge, requires_grad
from thunk.dispatch.state import no_grad_recording, state
from thunk.lazy.constant import bits_of
from thunk.lazy.layout import values_nobody_reads, values_read
from thunk.lazy.metrics import count
from thunk.lazy.node import TraceNode, operands_of
from thunk.lazy.numbers import TracedFloat, TracedInt, watch
from thunk.lazy.segment import Segment, TraceBackward
from thunk.lazy.trace import Trace, has_history
from thunk.ops.registry import t
from thunk.types.tensor_base import TensorBase

_bare = object.__new__


class BackwardPass:
    """What a backward pass did: numbers, the gradient of each leaf, and where it ended."""

    __slots__ = ("dropped", "end", "gradients", "numbers", "read", "released", "same")

    def __init__(
        self, end: TraceNode, gradients: list[tuple[int, TraceNode]],
        numbers: list[tuple[bool, Any]], read: list[tuple[int, Any]],
        released: frozenset[TraceNode], same: list[tuple[int, int]],
    ) -> None:  # fmt: skip
        self.end = end
        self.gradients = gradients  # by the number of the leaf's external
        self.numbers = numbers  # a number of the segment's walk by its place, or a constant
        self.read = read  # numbers that formulas computed with: part of what is remembered
        self.released = released
        self.same = same  # externals that are the leaf of another one
        self.dropped: Sequence[TraceNode] = ()  # values of a walk that was cut, read by nobody now


def backward(loss: Any, keep_graph: bool) -> bool:
    """Differentiate `loss` into its leaves; False if the engine has to do it."""
    trace: Trace | None = state.recorder
    node: TraceNode | None = loss._node
    if trace is None or not state.records:
        return False
    if node is None:
        return _after_cut(trace, loss, keep_graph)
    segment = trace.segment
    if node.trace is not trace or not node.requires_grad or segment.needs_engine:
        return False
    return _remembered(trace, segment, loss, ("backward", node, keep_graph))


def _after_cut(trace: Trace, loss: Any, keep_graph: bool) -> bool:
    """As `backward`, of a loss that was computed.

    The values that formulas read become leaves of the walk first; with them the place says all.
    """
    segment, node = _producer_of(loss)
    end = None if segment is None else segment.end
    if segment is None or end is None or segment.needs_engine:
        return False
    reads = end.plans.get(("reads", node))
    if reads is None:
        reads = end.plans["reads", node] = values_read(end.trace, [node.producer])
    entered: list[TraceNode | None] = []
    for each in reads:
        kept = segment.residuals.get(each)
        if kept is None:
            entered.append(None)  # whoever reads it is told that it was freed
            continue
        tensor = kept.tensor
        leaf = tensor._node or trace.register(tensor)
        if not kept.is_current or leaf is None or tensor._node is not leaf:
            return False
        if leaf.trace is not trace:
            return False
        entered.append(leaf)
    freed = frozenset().union(*segment.released)
    flow = tuple([each is None for each in segment.externals])
    return _remembered(
        trace, segment, loss, ("backward", node, keep_graph, end, freed, flow, *entered)
    )


def _producer_of(tensor: Any) -> tuple[Segment | None, Any]:
    """The finished walk that a result was computed in and its node there, if that is known."""
    if has_history(tensor):
        history = tensor._history
        back = None if history is None else history.grad_fn
        if not isinstance(back, TraceBackward) or history.base is not None:
            return None, None
        outputs = back.recorded.outputs
        return back.segment, back.recorded if outputs is None else outputs[history.output_index]
    origin = tensor._origin
    if type(origin) is not tuple or origin[0] is None:
        return None, None
    return origin[0], origin[1].node if len(origin) == 4 else origin[1]


def _remembered(trace: Trace, segment: Segment, loss: Any, key: tuple[Any, ...]) -> bool:
    position = trace.at()
    scalars = segment.numbers
    for found in position.plans.get(key, ()):
        read = found.read
        if not read or all(_same(scalars[index], value) for index, value in read):
            return _replay(trace, segment, found)
    made = _record(trace, segment, loss, key)
    if made is None:
        return False
    position.plans.setdefault(key, []).append(made)
    gradients = _gradients(made)
    trace.results += gradients
    trace.counted_here()
    if segment is not trace.segment:
        _release(segment, made)
    _accumulate([_leaf(segment.exits[index]) for index, _ in made.gradients], gradients)
    return True


def _leaves(segment: Segment, done: BackwardPass) -> list[Any] | None:
    """The leaves that gradients go to; None if they are others than those of the first time."""
    externals = segment.exits
    found = [externals[index] for index, _ in done.gradients]
    for place, each in enumerate(found):
        if type(each) is Edge:
            found[place] = _leaf(each)
            if found[place] is None:
                return None
    if len(set(map(id, found))) != len(found):
        return None
    for one, two in done.same:
        if _leaf(externals[one]) is not _leaf(externals[two]):
            return None
    return found


def _leaf(external: Any) -> Any:
    """The tensor of a leaf, None for the edge of something else."""
    if type(external) is not Edge:
        return external
    node: Any = external.node
    plain = type(node) is AccumulateGrad and not node.is_watched
    return node.variable if plain else None


def _same(value: Any, before: Any) -> bool:
    return type(value) is type(before) and bits_of(value) == bits_of(before)


def _replay(trace: Trace, segment: Segment, done: BackwardPass) -> bool:
    leaves = _leaves(segment, done)
    if leaves is None:
        return False
    scalars = segment.numbers
    numbers = [scalars[value] if moved else value for moved, value in done.numbers]
    gradients = _gradients(done)
    try:
        trace.scalars += numbers
        trace.results += gradients
        trace.node = done.end
    except BaseException:
        trace.repair()
        raise
    _release(segment, done)
    _accumulate(leaves, gradients)
    return True


def _release(segment: Segment, done: BackwardPass) -> None:
    segment.release(done.released)
    for each in done.dropped:
        segment.residuals.pop(each, None)


def _gradients(done: BackwardPass) -> list[Any]:
    """A pending tensor for the gradient of each leaf."""
    kind = type_of_gradients[0]
    made = []
    for _, node in done.gradients:
        gradient = _bare(kind)
        gradient._node = node
        made.append(gradient)
    return made


def _accumulate(leaves: list[Any], gradients: list[Any]) -> None:
    """Bind gradients to leaves that have none; all others go the general way."""
    others = []
    for leaf, gradient in zip(leaves, gradients, strict=True):
        history = leaf._history
        if (
            history.grad is None and history.hooks is None and history.requires_grad
            and history.post_accumulate_hooks is None and history.grad_fn is None
        ):  # fmt: skip
            history.grad = gradient
        else:
            others.append((leaf, gradient))
    if others:
        running.passes.append(_Arrivals(leaves))
        try:
            with no_grad_recording():
                for leaf, gradient in others:
                    history = leaf._history
                    if history.hooks or history.post_accumulate_hooks or history.grad_fn:
                        AccumulateGrad(leaf).apply([gradient])
                    elif requires_grad(leaf):
                        accumulate(leaf, gradient)
        finally:
            running.passes.pop()


class _Arrivals:
    """The pass whose gradients reach these leaves, for hooks that ask how many there will be."""

    def __init__(self, leaves: list[Any]) -> None:
        self.leaves = leaves

    def visits(self, node: Any) -> bool:
        variable = getattr(node, "variable", None)
        return any(each is variable for each in self.leaves)


type_of_gradients: list[Any] = [TensorBase]


class _Collecting(Pass):
    """A pass that leaves accumulation for later, and notes which nodes it ran."""

    def __init__(self, keep_graph: bool) -> None:
        super().__init__(keep_graph, None)
        self.arrived: list[tuple[Any, Any]] = []
        self.ran: list[Any] = []

    def _apply(self, node: Any, grads: Any) -> Any:
        if isinstance(node, AccumulateGrad):
            self.arrived.append((node.variable, grads[0]))
            return []
        self.ran.append(node)
        return super()._apply(node, grads)


def _record(
    trace: Trace, segment: Segment, loss: Any, key: tuple[Any, ...]
) -> BackwardPass | None:
    edge, keep_graph = edge_of(loss), key[2]
    if edge is None or not _is_pure(edge.node, segment):
        return None
    count("BackwardRecorded")
    generation, results = trace.generation, len(trace.results)
    leaves, externals, first = len(trace.leaves), len(trace.externals), len(trace.scalars)
    current = _Collecting(keep_graph)
    watch.read = {}
    try:
        with no_grad_recording():
            try:
                current.run([(edge, start_gradient(loss, None))], through_results=False)
            except BaseException:
                for leaf, gradient in current.arrived:  # before it failed
                    AccumulateGrad(leaf).apply([gradient])
                raise
            own = [(leaf, t.relayout(gradient, leaf._spec.fresh().strides))
                   for leaf, gradient in current.arrived]  # fmt: skip
        read = watch.read
    finally:
        watch.read = None
    lengths = (generation, leaves, externals)
    if lengths != (trace.generation, len(trace.leaves), len(trace.externals)):
        raise AssertionError("lazy: expected a pure backward pass to leave the walk's leaves alone")
    numbers = []
    for place in range(first, len(trace.scalars)):
        value = trace.scalars[place]
        moved = type(value) in (TracedFloat, TracedInt)
        numbers.append((moved, value.index if moved else value))
        if moved:
            trace.scalars[place] = segment.numbers[value.index]
    places = _places(segment)
    gradients = [(places[id(leaf)], gradient._node) for leaf, gradient in own]
    del own, current.arrived[:], trace.results[results:]
    end = trace.mark(key)
    released = frozenset(
        node.recorded for node in current.ran if not keep_graph and node.saved_args is None
    )
    reached = {
        each.external for node in current.ran for each in operands_of(node.recorded.args)
    }
    same = [
        (index, places[id(leaf)]) for index in sorted(reached) if index >= 0
        for leaf in [_leaf(segment.exits[index])] if places.get(id(leaf), index) != index
    ]  # fmt: skip
    made = BackwardPass(end, gradients, numbers, list(read.items()), released, same)
    if segment.end is not None:
        made.dropped = values_nobody_reads(segment.end.path(), released.union(*segment.released))
    return made


def _places(segment: Segment) -> dict[int, int]:
    """The number of each leaf among what gradients leave the walk for."""
    found: dict[int, int] = {}
    for index, each in enumerate(segment.exits):
        if each is None:  # a leaf that wants no gradient any more
            continue
        leaf = each if isinstance(each, TensorBase) else getattr(each.node, "variable", None)
        if leaf is not None:
            found.setdefault(id(leaf), index)
    return found


def _is_pure(root: Any, segment: Segment) -> bool:
    """Whether all that a pass would run are operators of one walk, unwatched and unfreed."""
    seen = {root}
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, AccumulateGrad):
            if node.is_watched:
                return False
            continue
        if not isinstance(node, TraceBackward) or node.segment is not segment:
            return False
        if node.saved_args is None or node.is_watched:
            return False
        for edge in node.edges:
            if edge is not None and edge.node not in seen:
                seen.add(edge.node)
                stack.append(edge.node)
    return True
