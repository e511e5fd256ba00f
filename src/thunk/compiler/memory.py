"""Enters: a schedule. Leaves: `MemoryPlan`: where every buffer lies.

Invariant: buffers that are alive at once never overlap; every place is aligned to 64 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from thunk.compiler.access import Buffer
from thunk.compiler.lowering import LibraryCall
from thunk.compiler.nest import Nest
from thunk.compiler.schedule import Schedule, reads_of, writes_of
from thunk.types.dtype import uint8

ALIGNMENT = 64
ARENA, NUMBERS, STATUS, FIRST_INPUT = range(4)


@dataclass(slots=True)
class MemoryPlan:
    """Each buffer's (base, byte offset). Bases: the arena, numbers, status, inputs, outputs."""

    places: dict[Buffer, tuple[int, int]] = field(default_factory=dict)
    arena: int = 0
    sources: list[int] = field(default_factory=list)  # output -> input it comes back in, or -1
    lifetimes: dict[Buffer, tuple[int, int]] = field(default_factory=dict)

    def text(self) -> str:
        """The plan as a table."""
        lines = [f"arena {self.arena} bytes"]
        for buffer, (base, offset) in self.places.items():
            where = f"arena+{offset}" if base == ARENA else f"base {base}"
            life = self.lifetimes.get(buffer)
            lines.append(
                f"    {buffer.name:8} {buffer.nbytes:10} bytes at {where}"
                + (f" during steps {life[0]}..{life[1]}" if life else "")
            )
        return "\n".join(lines) + "\n"


def plan_memory(
    schedule: Schedule, stored: list[set[Buffer]], aliases: dict[Buffer, Buffer]
) -> MemoryPlan:
    """`aliases` maps a buffer to the one whose place it takes over."""
    plan = MemoryPlan()
    for index, buffer in enumerate(schedule.inputs):
        plan.places[buffer] = (FIRST_INPUT + index, 0)
    first_output = FIRST_INPUT + len(schedule.inputs)
    for index, buffer in enumerate(schedule.outputs):
        source = _root(buffer, aliases)
        given = source in schedule.inputs
        plan.sources.append(schedule.inputs.index(source) if given else -1)
        plan.places[buffer] = plan.places[source] if given else (first_output + index, 0)
        plan.places[source] = plan.places[buffer]
    lifetimes = _lifetimes(schedule, stored, plan, aliases)
    plan.lifetimes = lifetimes
    _place(plan, lifetimes)
    for buffer in aliases:
        if buffer not in plan.places:
            plan.places[buffer] = plan.places[_root(buffer, aliases)]
    return plan


def _root(buffer: Buffer, aliases: dict[Buffer, Buffer]) -> Buffer:
    while buffer in aliases:
        buffer = aliases[buffer]
    return buffer


def _lifetimes(
    schedule: Schedule, stored: list[set[Buffer]], plan: MemoryPlan,
    aliases: dict[Buffer, Buffer],
) -> dict[Buffer, tuple[int, int]]:  # fmt: skip
    """First and last step of every buffer that lies in the arena."""
    found: dict[Buffer, tuple[int, int]] = {}
    for number, step in enumerate(schedule.steps):
        touched = reads_of(step) | writes_of(step)
        if isinstance(step, LibraryCall) and step.scratch:
            if step.space is None:
                step.space = Buffer(f"scratch{number}", uint8, step.scratch)
            touched.add(step.space)
        for buffer in touched:
            # Calls write all their results, also those that nobody reads.
            kept = not isinstance(step, Nest) or buffer in stored[number]
            inner = buffer in writes_of(step) and not kept
            root = _root(buffer, aliases)
            if inner or root in plan.places:
                continue
            first = found[root][0] if root in found else number
            found[root] = (first, number)
    return found


def _place(plan: MemoryPlan, lifetimes: dict[Buffer, tuple[int, int]]) -> None:
    """Largest first, each at the lowest offset that is free during its life."""
    placed: list[tuple[int, int, int, int]] = []  # first step, last step, begin, end
    order = sorted(lifetimes, key=lambda each: (-each.nbytes, lifetimes[each]))
    for buffer in order:
        first, last = lifetimes[buffer]
        size = -(-max(buffer.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        taken = sorted(
            (begin, end) for start, stop, begin, end in placed if start <= last and first <= stop
        )
        offset = 0
        for begin, end in taken:
            if begin - offset >= size:
                break
            offset = max(offset, end)
        placed.append((first, last, offset, offset + size))
        plan.places[buffer] = (ARENA, offset)
        plan.arena = max(plan.arena, offset + size)


def verify_plan(plan: MemoryPlan) -> None:
    """Raise `AssertionError` if two buffers overlap in space and in time."""
    placed = [(each, *plan.places[each], *life) for each, life in plan.lifetimes.items()]
    for index, (buffer, _, offset, first, last) in enumerate(placed):
        assert offset % ALIGNMENT == 0, f"{buffer} is not aligned"
        for other, _, start, begin, end in placed[:index]:
            apart = last < begin or end < first
            beside = offset + buffer.nbytes <= start or start + other.nbytes <= offset
            assert apart or beside, f"{buffer} and {other} overlap"
