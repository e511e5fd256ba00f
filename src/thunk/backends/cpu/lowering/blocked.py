"""Enters: values that a library left in a layout of its own. Leaves: loops that stay in it.

Invariant: a value with a twin has the same elements in both memories; the plain one is filled by a
reorder, which is dropped if nobody reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from thunk.backends.cpu.calls import call as calls
from thunk.backends.cpu.calls.build import build
from thunk.backends.cpu.calls.layout import Layout, plain
from thunk.backends.cpu.calls.specs import CallSpec, Reorder
from thunk.backends.cpu.runner import threads
from thunk.compiler.access import Access, Buffer
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, LibraryCall, Unsupported
from thunk.ir.graph import Value, values_in
from thunk.types.spec import TensorSpec

CHANNELS = 1
Twins = dict[Value, dict[Layout, Buffer]]


def call_library(at: At, spec: CallSpec, places: Mapping[str, Access]) -> calls.LibraryCall:
    """Add the call that serves `spec`; `places` says where each of its operands lies."""
    built = build(spec)
    add_call(at, built, places)
    return built


def add_call(at: At, built: calls.LibraryCall, places: Mapping[str, Access]) -> None:
    """Add a call that was built."""
    bound = built.bind()
    reads = [each for each in built.operands if each.access == "read"]
    writes = [
        each for each in built.operands if each.access != "read" and each.name != calls.SCRATCHPAD
    ]
    at.lower.items.append(
        LibraryCall(
            str(built), [places[each.name] for each in reads],
            [places[each.name] for each in writes], bound.function, bound.context,
            built.scratchpad, (built, bound), at.node.where, built.flops,
        )
    )  # fmt: skip


def layout_of(spec: TensorSpec) -> Layout:
    """How a graph's value lies in memory."""
    return plain(spec.shape, spec.dtype, spec.strides)


def twins_of(at: At, value: Value) -> dict[Layout, Buffer]:
    """The value's other memories, by layout."""
    return at.lower.twins.setdefault(value, {})


def in_layout(at: At, value: Value, layout: Layout, own: Layout) -> Access:
    """The value in a layout, reordered from its own if it never was in it."""
    if layout.is_plain and layout.strides == own.strides:
        return at.lower.window(value)
    known = twins_of(at, value)
    if layout not in known:
        buffer = room(at, layout)
        source = at.lower.window(value)
        spec = Reorder(own, layout, threads().count)
        call_library(at, spec, {"source": source, "result": Access(buffer, layout.dtype, ())})
        known[layout] = buffer
    return Access(known[layout], layout.dtype, ())


def room(at: At, layout: Layout) -> Buffer:
    """Memory for a tensor in a layout."""
    return at.lower.temporary(layout.dtype, layout.nbytes // layout.dtype.itemsize)


def made_in_layout(at: At, value: Value, layout: Layout, own: Layout) -> Access:
    """Where to write a result in a layout; its plain memory follows if somebody reads it."""
    if layout.is_plain and layout.strides == own.strides:
        return at.lower.window(value)
    buffer = room(at, layout)
    twins_of(at, value)[layout] = buffer
    return Access(buffer, layout.dtype, ())


def give_plain(at: At, value: Value, layout: Layout, own: Layout) -> None:
    """Fill a result's plain memory from its twin."""
    if layout.is_plain and layout.strides == own.strides:
        return
    source = Access(twins_of(at, value)[layout], layout.dtype, ())
    spec = Reorder(layout, own, threads().count)
    call_library(at, spec, {"source": source, "result": at.lower.window(value)})


def is_channel_blocked(layout: Layout) -> bool:
    """Whether only the channels are cut in blocks, without padding."""
    blocks = layout.blocks
    return not layout.has_padding and len(blocks) == 1 and blocks[0][0] == CHANNELS


def common_layout(at: At, values: Sequence[Value]) -> Layout | None:
    """A blocked layout that all values have, or None."""
    if not values:
        return None
    layout: Layout
    for layout in at.lower.twins.get(values[0], ()):
        if is_channel_blocked(layout) and layout.shape == values[0].spec.shape and all(
            layout in at.lower.twins.get(each, ()) for each in values
        ):
            return layout
    return None


def natural(at: At, args: Any, index: int = 0) -> Domain:
    """Loops over a result in the layout that its operands of the same shape have in common."""
    spec: TensorSpec = at.node.outputs[index].spec
    if len(spec.shape) >= 3 and at.lower.twins:
        same = [each for each in values_in(args) if each.spec.shape == spec.shape]
        layout = common_layout(at, same)
        if layout is not None and layout.dtype is spec.dtype:
            return Blocked(at, spec.shape, layout)
    return at.over(spec.shape)


class Blocked(Domain):
    """Loops over a tensor whose channels are cut in blocks; the block is the innermost loop."""

    def __init__(self, at: At, shape: tuple[int, ...], layout: Layout) -> None:
        self.block = layout.blocks[0][1]
        outer = list(shape)
        outer[CHANNELS] //= self.block
        super().__init__(at, (*outer, self.block))
        self.shape = shape
        self.layout = layout

    def _spread(self, strides: Sequence[int]) -> tuple[int, ...]:
        """Steps along the loops, from steps along the dimensions."""
        outer = list(strides)
        inner = outer[CHANNELS]
        outer[CHANNELS] *= self.block
        return (*outer, inner)

    def window(self, value: Value) -> Access:
        """The operand at the loops' point: of its twin if it has one in this layout."""
        twin = self.lower.twins.get(value, {}).get(self.layout)
        if twin is not None and value.spec.shape == self.shape:
            assert self.layout.strides is not None
            return Access(twin, self.layout.dtype, (*self.layout.strides, 1))
        access = self.at.over(self.shape).window(value)
        return access.over(self._spread(access.strides))

    def loops_of(self, axes: Sequence[int]) -> tuple[int, ...]:
        loops = list(axes)
        if CHANNELS in loops:
            loops.append(len(self.sizes) - 1)
        return tuple(loops)

    def read_along(self, value: Value, loops: Sequence[int]) -> Expression:
        strides = [0] * len(self.shape)
        for loop, stride in zip(loops, value.spec.strides, strict=True):
            strides[loop] = stride
        return self.read_as(value, self._spread(strides))

    def place(self, loop: int) -> Expression:
        if loop == CHANNELS:
            raise Unsupported("a channel's number in a blocked layout")
        return super().place(loop)

    def store(self, term: Expression, index: int = 0) -> None:
        value = self.at.node.outputs[index]
        assert value.spec.shape == self.shape, f"{value.spec.shape} is not {self.shape}"
        layout = self.layout
        buffer = room(self.at, layout)
        twins_of(self.at, value)[layout] = buffer
        assert layout.strides is not None
        self.write(Access(buffer, layout.dtype, (*layout.strides, 1)), term)
        give_plain(self.at, value, layout, layout_of(value.spec))

    def channel(self, access: Access) -> Access:
        """What moves along channels only, in loops over channels."""
        return access.over((access.strides[-1],))


def like(layout: Layout, shape: tuple[int, ...]) -> Layout:
    """The same order of dimensions and blocks for another shape."""
    assert layout.strides is not None
    block = layout.blocks[0][1]
    outer = list(shape)
    outer[CHANNELS] //= block
    order = sorted(range(len(shape)), key=lambda each: layout.strides[each])  # type: ignore[index]
    strides, step = [0] * len(shape), block
    for axis in order:
        strides[axis] = step
        step *= outer[axis]
    return replace(layout, shape=shape, strides=tuple(strides), padded=())


def natural_over(at: At, value: Value) -> Domain:
    """Loops over an operand in the layout that it has."""
    layout = common_layout(at, [value])
    return at.over(value.spec.shape) if layout is None else Blocked(at, value.spec.shape, layout)
