"""Enters: convolutions in layouts that oneDNN is slow at. Leaves: the fast ones, between reorders.

Channels-last images are kept as they are: with a weight in a layout of its own the library is as
fast on them. Others, and the weight, are reordered into scratch memory and back.
Invariant: `reorders` counts the copies that each run makes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from thunk.backends.cpu.blas.steps import BoundSteps, Place, Step
from thunk.backends.cpu.calls.call import (
    SCRATCHPAD,
    BoundCall,
    LibraryCall,
    Operand,
    in_order,
)
from thunk.backends.cpu.calls.layout import Layout, split_groups
from thunk.backends.cpu.calls.specs import Convolution, Relu, Reorder
from thunk.backends.cpu.onednn.call import OneDnnCall
from thunk.backends.cpu.onednn.primitive import written

TENSORS = ("image", "weight", "result")


def is_channels_last(layout: Layout) -> bool:
    """Whether the channels of one pixel lie side by side, and nothing else does."""
    return layout.is_plain and layout.strides is not None and layout.strides[1] == 1


def can_reorder(spec: Convolution) -> bool:
    """Whether the operands are the library's to rearrange."""
    layouts = [getattr(spec, name) for name in TENSORS]
    return all(each.is_plain for each in layouts) and all(
        isinstance(each, Relu) for each in spec.post
    )


class ReorderedCall(LibraryCall):
    """A primitive in layouts of its own choice, and reorders around it."""

    def __init__(self, spec: Convolution) -> None:
        if not can_reorder(spec):
            raise ValueError(f"reordered: expected plain layouts and no sums, got {spec}")
        self.spec: Convolution = spec
        freed = {"weight": spec.weight.freed()}
        for name in ("image", "result"):
            layout: Layout = getattr(spec, name)
            if not is_channels_last(layout) or layout.shape[1] == 1:
                freed[name] = layout.freed()
        changes: dict[str, Any] = freed
        self.inner = OneDnnCall(replace(spec, **changes))
        self.threads = self.inner.threads
        self._room = -(-self.inner.scratchpad // 64) * 64
        self._before: list[tuple[OneDnnCall, str]] = []
        self._after: list[tuple[OneDnnCall, str]] = []
        self._places: dict[str, int] = {}
        self._scratch: dict[str, int] = {}
        self.moved = 0
        for operand in self.inner.operands:
            if operand.name in TENSORS:
                self._reorder(operand)
        operands = [
            replace(each, layout=getattr(spec, each.name)) if each.name in TENSORS else each
            for each in self.inner.operands
            if each.name != SCRATCHPAD
        ]
        self.operands = in_order(operands, self._room)
        self.implementation = f"{self.inner.implementation} with {self.reorders} reorders"

    @property
    def reorders(self) -> int:
        """How many copies a run makes."""
        return len(self._before) + len(self._after)

    @property
    def flops_of_moved_byte(self) -> float:
        """Work of the primitive for each byte that a reorder reads or writes."""
        return self.flops / max(self.moved, 1)

    def _reorder(self, operand: Operand) -> None:
        """Plan the copy of an operand whose chosen layout is not that of the spec."""
        asked: Layout = getattr(self.spec, operand.name)
        if operand.name == "weight":
            asked = split_groups(asked, self.spec.groups)
        if asked == operand.layout:
            return
        self._places[operand.name] = self._room
        self._room += -(-operand.layout.nbytes // 64) * 64
        self._scratch[operand.name] = self._room
        self.moved += asked.nbytes + operand.layout.nbytes
        threads = self.spec.threads
        if operand.name in written(self.spec):
            call = OneDnnCall(Reorder(operand.layout, asked, threads))
            self._after.append((call, operand.name))
        else:
            call = OneDnnCall(Reorder(asked, operand.layout, threads))
            self._before.append((call, operand.name))
        self._room += -(-call.scratchpad // 64) * 64

    def bind(self) -> BoundCall:
        """The steps, each bound."""
        positions = {operand.name: at for at, operand in enumerate(self.operands)}
        last = len(self.operands) - 1

        def own(name: str) -> Place:
            return Place(positions[name])

        def inside(name: str) -> Place:
            if name == SCRATCHPAD:
                return Place(last, 0)
            return Place(last, self._places[name]) if name in self._places else own(name)

        def reorder(call: OneDnnCall, name: str, source: Place, result: Place) -> Step:
            places = [source, result]
            if call.scratchpad:
                places.append(Place(last, self._scratch[name]))
            return Step(call.bind(), tuple(places))

        steps = [reorder(call, name, own(name), inside(name)) for call, name in self._before]
        steps.append(
            Step(self.inner.bind(), tuple(inside(each.name) for each in self.inner.operands))
        )
        steps += [reorder(call, name, inside(name), own(name)) for call, name in self._after]
        return BoundSteps(steps)
