"""Enters: an operator's call on tensors. Leaves: pending tensors, and one more step of the trace.

Invariant: on a path walked before nothing is inferred: the edge's node has the specs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from thunk.autograd.edges import ONE_OF_SEVERAL, edge_of, is_refused
from thunk.autograd.meta import history_of, requires_grad
from thunk.autograd.saved import INFERENCE
from thunk.autograd.views import check_bounds, mark_view
from thunk.dispatch.call import tensors_in
from thunk.dispatch.infer import infer
from thunk.dispatch.keys import KeySet
from thunk.dispatch.state import state
from thunk.ir.opdef import NoGradient, OpDef
from thunk.ir.schema import Argument
from thunk.lazy.chance import drawn
from thunk.lazy.constant import Constant
from thunk.lazy.eager import run_now
from thunk.lazy.metrics import count
from thunk.lazy.node import OUTPUT, Slot, TraceNode, operands_of
from thunk.lazy.numbers import TracedFloat, plain_kind, plain_number
from thunk.lazy.origin import module_scope, user_line
from thunk.lazy.rehearse import rehearse
from thunk.lazy.segment import Segment, history_from, reads_of
from thunk.lazy.trace import Trace, has_storage, traces
from thunk.ops.copy import copying as _declares_with_history  # noqa: F401
from thunk.ops.registry import find_op
from thunk.ops.rules.numbers import checked_numbers
from thunk.ops.view import strided as _declares_relayout  # noqa: F401
from thunk.runtime.tensors import birth, forget_value, new_tensor
from thunk.types.dtype import dtype
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase

_relayout = find_op("aten::relayout")
_with_history = find_op("aten::with_history")
_empty_strided = find_op("aten::empty_strided")
_as_strided = find_op("aten::as_strided")
_scatter = find_op("aten::as_strided_scatter")
_PLACED = frozenset({_as_strided, _scatter})  # they name places in a storage


def lazy_kernel(op: OpDef, keys: KeySet, args: tuple[Any, ...]) -> Any:
    """Record one operator; operators whose result is needed to go on run at once."""
    trace = traces.current
    if op.random:
        replaced = drawn(trace, op, args)
        if replaced is None:
            return run_now(op, args)
        op, args = replaced
    elif op.needs_values or _has_own_form(op, args) or not _returns_tensors(op):
        checks = op.checks(args)
        if checks is None:
            return run_now(op, args)
        if checks:
            return _computed(trace, op, args)
    elif op.raises_on_data:
        rehearse(op, args)
    if op is _as_strided:
        check_bounds(op, infer(op, args), _room_of(args[0]))
    if op is _relayout and args[0]._spec == infer(op, args):
        return trace.wrap(trace.node_of(args[0], False))  # values are functional: a copy is a name
    return _pending(trace, op, args)


def _pending(trace: Trace, op: OpDef, args: tuple[Any, ...]) -> Any:
    """The tensors of a recorded call."""
    node = record(trace, op, args)
    source = args[0] if args else None
    if node.outputs is not None:
        return tuple([result(trace, op, each, source, True) for each in node.outputs])
    return result(trace, op, node, source)


def _has_own_form(op: OpDef, args: tuple[Any, ...]) -> bool:
    """Whether the result is memory of a form of its own, which a program's results never have."""
    if op is not _empty_strided and op is not _scatter:
        return False
    spec = infer(op, args)
    return bool(spec.offset) or not spec.is_non_overlapping_and_dense()


def _room_of(tensor: Any) -> int:
    """How many bytes the storage of a tensor has, or will have."""
    if not has_storage(tensor):
        return int(tensor._spec.numel * tensor._spec.dtype.itemsize)
    storage = tensor._storage
    if storage._data is not None:
        return int(storage._data.nbytes)
    home: TensorSpec = storage.home
    return home.numel * home.dtype.itemsize


def _computed(trace: Trace, op: OpDef, args: tuple[Any, ...]) -> Any:
    """Recorded and run alone: whoever catches what a call raises for its values does so here."""
    trace.materialise()
    results = _pending(trace, op, args)
    trace.materialise()
    return results


def _returns_tensors(op: OpDef) -> bool:
    """Whether all results are tensors, or one list of them."""
    returns = [each.type for each in op.schema.returns]
    listed = any(each.is_list for each in returns)
    return all(each.base == "Tensor" for each in returns) and (not listed or len(returns) == 1)


def record(trace: Trace, op: OpDef, args: tuple[Any, ...]) -> TraceNode:
    """Follow or make the edge of this call."""
    numbers: list[Any] = []
    recording = state.grad_enabled and not isinstance(op.gradient, NoGradient)
    if recording and any(each._node is None and is_refused(each) for each in tensors_in(args)):
        specs = infer(op, args)  # nobody asks for gradients of integers
        several = (specs,) if isinstance(specs, TensorSpec) else specs
        recording = any(each is not None and each.dtype.is_inexact for each in several)
    generation = -1
    while trace.generation != generation:  # an operand was cut before another could be read
        generation = trace.generation
        trace.at()
        numbers.clear()
        frozen = _frozen(trace, op, args, recording, numbers)
        if op in _PLACED:
            frozen = (trace.placed(args[0]), *frozen[1:])
    first = len(trace.scalars)
    known = trace.at().children.get((op, frozen))
    if known is not None and known.guards:
        infer(op, args)  # another number may not fit
    if trace.sharing is None or not numbers:
        node = trace.step((op, frozen), lambda: _make(
            trace, op, frozen, args, numbers, tuple(range(first, first + len(numbers)))
        ))  # fmt: skip
        trace.scalars += numbers
    else:
        places, own = _shared_places(trace.sharing, numbers, first)
        backs = tuple([place - first for place in places])
        node = trace.step((op, frozen, backs), lambda: _make(
            trace, op, frozen, args, numbers, places
        ))  # fmt: skip
        trace.scalars += own
    trace.counted_here()
    return node


def _frozen(
    trace: Trace, op: OpDef, args: tuple[Any, ...], recording: bool, numbers: list[Any]
) -> tuple[Any, ...]:
    """The arguments as parts of a key; numbers that are inputs of a run go to `numbers`."""
    return tuple(
        [
            _freeze(
                trace, value, recording,
                numbers if argument.name in op.runtime_scalars and not is_default(argument, value)
                else None,
            )
            for argument, value in zip(op.schema.arguments, args, strict=True)
        ]
    )  # fmt: skip


def is_default(argument: Argument, value: Any) -> bool:
    """Whether a number is what the schema says; such ones are constants, which fold away."""
    return (
        not argument.is_required
        and type(value) is type(argument.default)
        and bool(value == argument.default)
    )


def _shared_places(
    sharing: dict[int, int], numbers: list[Any], first: int
) -> tuple[tuple[int, ...], list[Any]]:
    """Where each number stands in the walk, and those that stand nowhere yet."""
    places: list[int] = []
    own: list[Any] = []
    for value in numbers:
        known = sharing.get(value.index) if isinstance(value, TracedFloat) else None
        if known is None:
            known = first + len(own)
            if isinstance(value, TracedFloat):
                sharing[value.index] = known
            own.append(plain_number(value))
        places.append(known)
    return tuple(places), own


def _freeze(trace: Trace, value: Any, recording: bool, numbers: list[Any] | None) -> Any:
    if isinstance(value, TensorBase):
        return trace.node_of(value, recording)
    if isinstance(value, (list, tuple)):
        return tuple([_freeze(trace, each, recording, None) for each in value])
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if numbers is not None:
            numbers.append(value)
            return Slot(plain_kind(value))
        return Constant(plain_number(value))
    if isinstance(value, (bool, complex)):
        return Constant(value)
    return value


def _make(
    trace: Trace, op: OpDef, frozen: tuple[Any, ...], args: tuple[Any, ...],
    numbers: list[Any], places: tuple[int, ...],
) -> TraceNode:  # fmt: skip
    parent = trace.at()
    count("IrNodeCreated")
    node = TraceNode(trace, parent, op, frozen)
    if op.view or op is _with_history:
        node.memory = frozen[0].memory
    node.scalars = places
    # A view is born when what it shows was.
    node.inference = frozen[0].inference if op.view else birth.inference
    node.recording = state.grad_enabled
    node.where, node.scope = user_line(), module_scope()
    with checked_numbers() as checked:
        specs = infer(op, tuple(map(_as_recorded, args, frozen)))
    node.guards = _guards(numbers, checked)
    wants = (
        state.grad_enabled
        and not isinstance(op.gradient, NoGradient)
        and any(each.requires_grad for each in operands_of(frozen))
    )
    if isinstance(specs, TensorSpec):
        node.spec = specs
        node.requires_grad = wants and specs.dtype.is_inexact
        node.nbytes += _bytes_of(op, specs)
        return _checked(node, wants)
    outputs = []
    for index, spec in enumerate(specs):
        output = TraceNode(trace, parent, OUTPUT, (node, index))
        output.depth = node.depth
        output.memory = node.memory if op.view else output
        output.spec = spec
        output.inference, output.recording = node.inference, node.recording
        output.requires_grad = (
            wants and spec is not None and spec.dtype.is_inexact and index not in op.constants
        )
        node.nbytes += _bytes_of(op, spec)
        outputs.append(output)
    node.outputs = tuple(outputs)
    return _checked(node, wants)


def _guards(
    numbers: list[Any], checked: list[tuple[Any, dtype]]
) -> tuple[tuple[int, dtype], ...]:
    """Which of a call's numbers may not fit their dtype when the call is made again."""
    return tuple(
        [
            (place, element)
            for place, number in enumerate(numbers) for value, element in checked
            if value is number and _may_not_fit(number, element)
        ]
    )  # fmt: skip


def _may_not_fit(number: Any, element: dtype) -> bool:
    wide = element.itemsize == 8 or (element.is_inexact and element.itemsize > 2)
    return isinstance(number, float) or not wide


def _checked(node: TraceNode, differentiable: bool) -> TraceNode:
    if differentiable and any(each.inference for each in reads_of(node)):
        raise RuntimeError(INFERENCE)
    return node


def _bytes_of(op: OpDef, spec: TensorSpec | None) -> int:
    return 0 if op.view or spec is None else spec.numel * spec.dtype.itemsize


def result(trace: Trace, op: OpDef, node: TraceNode, source: Any, several: bool = False) -> Any:
    """The tensor that a call returns for `node`."""
    if node.spec is None:
        return None
    tensor = trace.wrap(node)
    if not op.view:
        return tensor
    look_into(tensor, source, node)
    if isinstance(op.gradient, NoGradient):
        tensor._history = None
    elif not node.requires_grad and requires_grad(source):
        tensor._history = history_of_node(node, trace.segment)
        mark_view(tensor, source)
        if several:
            history_of(tensor).creation = ONE_OF_SEVERAL
        if requires_grad(tensor):  # perhaps by its base alone: gradients arrive and end there
            tensor._node = trace.attach(node, edge_of(tensor))
    else:
        tensor._origin = OneOf(source) if several else source
    if tensor._storage.foreign:
        forget_value(tensor)  # its memory may be written to by others before it is used
    return tensor


class OneOf:
    """Stands for the tensor that several views, made by one call, look into."""

    __slots__ = ("source",)

    def __init__(self, source: Any) -> None:
        self.source = source


def _as_recorded(value: Any, frozen: Any) -> Any:
    """A tensor as the walk knows it, which may know nothing of where in its storage it lies."""
    if isinstance(value, (tuple, list)) and len(value) == len(frozen):
        return type(value)(map(_as_recorded, value, frozen))
    if not isinstance(value, TensorBase) or value._spec.offset == frozen.spec.offset:
        return value
    return new_tensor(value._storage, frozen.spec)


def look_into(tensor: Any, source: Any, node: TraceNode) -> None:
    """Make a pending tensor share the memory of `source`."""
    storage = source._storage
    storage.users += 1
    tensor._storage = storage
    tensor._versions = source._versions
    own: TensorSpec = node.producer.args[0].spec
    spec, shift = node.spec, source._spec.offset - own.offset
    tensor._spec = replace(spec, offset=spec.offset + shift) if shift else spec


def history_of_node(node: TraceNode, segment: Segment) -> Any:
    """The history a tensor has because of its node in `segment`, None for constants."""
    if not node.requires_grad:
        return None
    edge = segment.edge(node)
    return None if edge is None else history_from(edge)
