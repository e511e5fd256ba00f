"""Enters: planned nests and what may be overwritten. Leaves: which buffer takes over whose memory.

Invariant: a nest writes over a buffer only if it reads it at the very point it writes, not after
that write, and nobody else reads it later.
"""

from __future__ import annotations

from collections.abc import Mapping

from thunk.compiler.access import Access, Buffer
from thunk.compiler.expression import READING, Expression
from thunk.compiler.loops import Loops
from thunk.compiler.nest import Nest
from thunk.compiler.schedule import Schedule, reads_of
from thunk.runtime.backend import Donated

Aliases = dict[Buffer, Buffer]


def find_aliases(
    schedule: Schedule, loops: dict[int, Loops], donated: Donated
) -> Aliases:
    """For every buffer that can take over another's memory, the other."""
    last = _last_reads(schedule)
    written = _first_writes(schedule)
    givers = {schedule.inputs[index] for index in donated}
    takers = _takers(schedule, donated)
    kept = set(schedule.inputs) - givers | set(schedule.outputs)
    aliases: Aliases = {}
    taken: set[Buffer] = set()
    for number, step in enumerate(schedule.steps):
        if not isinstance(step, Nest) or not _is_plain(loops[number]):
            continue
        reads, late = _reads_by_buffer(loops[number])
        for target, when in _targets(loops[number]):
            buffer = target.buffer
            if buffer in aliases or buffer in givers or written[buffer] < number:
                continue
            for other in _preferred(reads, schedule, buffer in schedule.outputs):
                accesses = reads[other]
                if (
                    other not in taken and other not in kept and last.get(other) == number
                    and takers.get(other, buffer) is buffer
                    and other not in step.made and late[other] <= when
                    and other.nbytes == buffer.nbytes
                    and all(_same_place(each, target) for each in accesses)
                ):  # fmt: skip
                    aliases[buffer] = other
                    taken.add(other)
                    break
    return aliases


def _takers(schedule: Schedule, donated: Donated) -> dict[Buffer, Buffer]:
    """The one output that may take each donated input's memory over, where that is said."""
    if not isinstance(donated, Mapping):
        return {}
    return {schedule.inputs[index]: schedule.outputs[to] for index, to in donated.items()}


def _preferred(
    reads: dict[Buffer, set[Access]], schedule: Schedule, is_output: bool
) -> list[Buffer]:
    """Outputs prefer inputs, in their order: parameters then stay where they are."""
    inputs = [each for each in schedule.inputs if each in reads]
    rest = [each for each in reads if each not in inputs]
    return inputs + rest if is_output else rest + inputs


def drop_copies_onto_themselves(loops: Loops, aliases: Aliases) -> None:
    """A copy into memory that was taken over from its source has nothing to do."""
    for each in loops.passes:
        each.stores = [
            (target, value) for target, value in each.stores if not _is_copy(target, value, aliases)
        ]


def _is_copy(target: Access, value: Expression, aliases: Aliases) -> bool:
    if value.op != "load" or aliases.get(target.buffer) is not value.attribute.buffer:
        return False
    return _same_place(value.attribute, target)


def _same_place(access: Access, target: Access) -> bool:
    return (
        access.strides == target.strides and access.offset == target.offset
        and access.element.itemsize == target.element.itemsize
    )  # fmt: skip


def _is_plain(loops: Loops) -> bool:
    return not any(each.scatters for each in loops.passes)


def _last_reads(schedule: Schedule) -> dict[Buffer, int]:
    """The last step that touches each buffer."""
    found: dict[Buffer, int] = {}
    for number, step in enumerate(schedule.steps):
        for buffer in reads_of(step):
            found[buffer] = number
    return found


def _first_writes(schedule: Schedule) -> dict[Buffer, int]:
    """The first step that writes each buffer; a later one may write only a part of it."""
    found: dict[Buffer, int] = {}
    for number, step in enumerate(schedule.steps):
        for buffer in _written(step):
            found.setdefault(buffer, number)
    return found


def _written(step: object) -> set[Buffer]:
    return set(step.made) if isinstance(step, Nest) else set(getattr(step, "writes", ()))


def _targets(loops: Loops) -> list[tuple[Access, int]]:
    """What is stored, and when: in pass `n` at `2 * n`, after it at `2 * n + 1`."""
    found = [(target, -1) for target, _ in loops.before]
    for index, each in enumerate(loops.passes):
        found += [(target, 2 * index) for target, _ in each.stores]
        found += [(target, 2 * index + 1) for target, _ in each.rows]
    return found


def _reads_by_buffer(loops: Loops) -> tuple[dict[Buffer, set[Access]], dict[Buffer, int]]:
    """Every read of memory, and when a buffer is read last; look-ups read late."""
    reads: dict[Buffer, set[Access]] = {}
    late: dict[Buffer, int] = {}

    def visit(root: Expression, when: int) -> None:
        stack, seen = [root], set()
        while stack:
            term = stack.pop()
            if term in seen:
                continue
            seen.add(term)
            if term.op in READING:
                buffer = term.attribute.buffer
                reads.setdefault(buffer, set()).add(term.attribute)
                end = when if term.op == "load" else 1 << 30
                late[buffer] = max(late.get(buffer, -1), end)
            stack += term.args

    for _, value in loops.before:
        visit(value, -1)
    for index, each in enumerate(loops.passes):
        for _, value in each.stores:
            visit(value, 2 * index)
        for reduction in each.reductions:
            visit(reduction.value, 2 * index)
        for _, value in each.rows:
            visit(value, 2 * index + 1)
    return reads, late
