"""Enters: lowered items. Leaves: `Schedule`: fused nests, library calls and calls back, in order.

Invariant: a step runs after every step whose buffers it reads; what no output needs is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from thunk.compiler.access import Access, Buffer
from thunk.compiler.fusion import Fusion, Unit
from thunk.compiler.lowering import CallBack, Failure, Item, LibraryCall, Lower
from thunk.compiler.nest import Nest, verify_nest
from thunk.compiler.statement import Statement, verify_statement
from thunk.ir.graph import Graph, Value
from thunk.runtime.storage import Bytes
from thunk.types.spec import TensorSpec

Step = Nest | LibraryCall | CallBack


@dataclass(slots=True)
class Schedule:
    """Steps in order. `stored[i]` are the buffers of nest `i` that memory must hold."""

    steps: list[Step]
    stored: list[set[Buffer]]
    inputs: list[Buffer]
    outputs: list[Buffer]
    fallbacks: dict[str, int]
    failures: list[Failure]
    constants: list[Bytes] = field(default_factory=list)  # the last inputs; nobody gives them

    @property
    def nests(self) -> list[Nest]:
        return [each for each in self.steps if isinstance(each, Nest)]


def schedule(graph: Graph, functions: frozenset[str]) -> Schedule:
    """Lower, prune, fuse and order a graph."""
    lower = Lower(graph, functions)
    lower.run()
    outputs = [_own_output(lower, value, index) for index, value in enumerate(graph.outputs)]
    items = pruned(lower.items, set(outputs))
    fusion = Fusion()
    for item in items:
        if isinstance(item, Statement):
            fusion.add(item)
        else:
            fusion.add_opaque(item)
    units = fusion.units()
    steps: list[Step] = [each for each in units if isinstance(each, (Nest, LibraryCall, CallBack))]
    inputs = [lower.buffers[value] for value in graph.inputs]
    inputs += lower.constants.buffers
    stored = stored_buffers(units, set(outputs))
    return Schedule(steps, stored, inputs, outputs, lower.counts, lower.failures,
                    lower.constants.memories)  # fmt: skip


def _own_output(lower: Lower, value: Value, index: int) -> Buffer:
    """Memory of its own for an output; views, inputs and values given twice are copied."""
    buffer, root = lower.buffer(value), value.root
    before = [each.root for each in lower.graph.outputs[:index]]
    spec: TensorSpec = value.spec.fresh()
    if root.node is not None and root not in before and _is_whole(value.spec, root.spec):
        return buffer
    copy = Buffer(f"out{index}", spec.dtype, spec.numel)
    target = Access(copy, spec.dtype, spec.strides)
    term = lower.load(lower.window(value))
    cut = (False,) * len(spec.shape)
    lower.emit(Statement(spec.shape, cut, target, term, "", "", "output"))
    return copy


def _is_whole(spec: TensorSpec, root: TensorSpec) -> bool:
    """Whether a window shows all of its memory, so that the memory may be given as it is."""
    dense = spec.offset == 0 and spec.is_non_overlapping_and_dense()
    return dense and spec.dtype is root.dtype and spec.numel == root.numel


def pruned(items: list[Item], needed: set[Buffer]) -> list[Item]:
    """The items that `needed` depends on."""
    needed = set(needed)
    kept: list[Item] = []
    for item in reversed(items):
        writes = [item.target.buffer] if isinstance(item, Statement) else item.writes
        if any(each in needed for each in writes):
            kept.append(item)
            needed |= item.buffers_read if isinstance(item, Statement) else set(item.reads)
    kept.reverse()
    return kept


def stored_buffers(units: list[Unit], outputs: set[Buffer]) -> list[set[Buffer]]:
    """For each unit the buffers that it makes and others, or the caller, read."""
    readers: dict[Buffer, int] = {}
    writers: dict[Buffer, int] = {}
    for unit in units:
        for buffer in reads_of(unit):
            readers[buffer] = readers.get(buffer, 0) + 1
        for buffer in writes_of(unit):
            writers[buffer] = writers.get(buffer, 0) + 1
    found = []
    for unit in units:
        made = set(writes_of(unit))
        inside = reads_of(unit, internal=True) if isinstance(unit, Nest) else set()
        found.append(
            {
                each for each in made
                if each in outputs or readers.get(each, 0) > (each in inside) or writers[each] > 1
            }
        )  # fmt: skip
    return found


def reads_of(unit: Any, internal: bool = False) -> set[Buffer]:
    """Buffers that a unit reads; of a nest, also those it makes itself."""
    if isinstance(unit, Nest):
        found = {access.buffer for each in unit.statements for access in each.reads}
        return {each for each in found if each in unit.made} if internal else found
    return set(unit.reads)


def writes_of(unit: Any) -> set[Buffer]:
    """Buffers that a unit writes."""
    return set(unit.made) if isinstance(unit, Nest) else set(unit.writes)


def verify_schedule(schedule: Schedule) -> None:
    """Raise `AssertionError` unless every step finds what it reads."""
    filled = set(schedule.inputs)
    for step in schedule.steps:
        if isinstance(step, Nest):
            verify_nest(step)
            for statement in step.statements:
                verify_statement(statement)
        own = writes_of(step)
        for buffer in reads_of(step):
            known = buffer in filled or (buffer in own and isinstance(step, Nest))
            assert known or buffer.size == 0, f"{buffer} is read before it is written"
        filled |= own
    for buffer in schedule.outputs:
        assert buffer in filled or buffer.size == 0, f"{buffer} is an output that nothing writes"


def spell_schedule(schedule: Schedule) -> str:
    """The steps as text."""
    lines = [f"inputs {schedule.inputs} outputs {schedule.outputs}"]
    for number, (step, stored) in enumerate(zip(schedule.steps, schedule.stored, strict=True)):
        if isinstance(step, Nest):
            lines.append(f"step {number}: kernel of {', '.join(step.names)}")
            lines += [f"    # {line}" for line in step.lines]
            for index in step.ordered():
                statement = step.statements[index]
                inner = "" if statement.target.buffer in stored else "  (in registers)"
                lines.append(f"    {statement}{inner}")
        else:
            kind = "library call" if isinstance(step, LibraryCall) else "call back"
            lines.append(f"step {number}: {kind} {step.name}: {step.reads} -> {step.writes}")
    return "\n".join(lines) + "\n"
