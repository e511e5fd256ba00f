"""Enters: statements and opaque steps in an order in which they can run. Leaves: nests and steps.

Invariant: the groups form no cycle; a buffer's writers stay in order, before its readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from thunk.compiler.access import Buffer
from thunk.compiler.nest import Nest, apart
from thunk.compiler.statement import Statement, without_ones

RECENT_READERS = 4


class Opaque(Protocol):
    """A step that is no loop nest: it reads and writes whole buffers."""

    @property
    def reads(self) -> Sequence[Buffer]: ...

    @property
    def writes(self) -> Sequence[Buffer]: ...


Unit = Nest | Opaque


class _Group:
    __slots__ = ("after", "content", "number")

    def __init__(self, number: int, content: Unit, after: int) -> None:
        self.number = number
        self.content: Unit | None = content
        self.after = after  # every group that must run before, as bits


class Fusion:
    """Puts statements into nests, one after the other."""

    def __init__(self) -> None:
        self._groups: list[_Group] = []
        self._writers: dict[Buffer, list[int]] = {}
        self._readers: dict[Buffer, list[int]] = {}
        self._parts: dict[Buffer, list[tuple[Statement, _Group]]] = {}

    def add_opaque(self, step: Opaque) -> None:
        """A step that nothing joins."""
        before = self._before(step.reads, step.writes)
        group = self._new(step, before)
        self._note(group, step.reads, step.writes)

    def add(self, statement: Statement) -> None:
        """Put one statement where it fits best."""
        statement = without_ones(statement)
        reads = statement.buffers_read
        writes = [statement.target.buffer]
        before = self._before_statement(statement, reads)
        for number in self._candidates(before, reads):
            group = self._groups[number]
            rest = before & ~(1 << number)
            if self._reaches(rest, number) or not isinstance(group.content, Nest):
                continue
            if group.content.join(statement):
                self._extend(group, rest)
                self._note(group, reads, writes)
                self._parts.setdefault(writes[0], []).append((statement, group))
                self._merge_makers(group, before)
                return
        group = self._new(Nest(statement), before)
        self._note(group, reads, writes)
        self._parts.setdefault(writes[0], []).append((statement, group))

    def units(self) -> list[Unit]:
        """Everything, in an order in which it can run, near the order of recording."""
        order: list[Unit] = []
        done = 0
        for group in self._groups:
            missing = _bits((group.after | 1 << group.number) & ~done)
            # What must run before a group is a proper part of what must run before its followers.
            missing.sort(key=lambda each: (self._groups[each].after.bit_count(), each))
            for number in missing:
                content = self._groups[number].content
                if content is not None:
                    order.append(content)
                done |= 1 << number
        return order

    def _new(self, content: Unit, before: int) -> _Group:
        after = self._closure(before)
        group = _Group(len(self._groups), content, after)
        self._groups.append(group)
        return group

    def _closure(self, direct: int) -> int:
        after = direct
        for number in _bits(direct):
            after |= self._groups[number].after
        return after

    def _before(self, reads: object, writes: Sequence[Buffer]) -> int:
        """The groups that must have run: writers of what is read, writers and readers of what is
        written."""
        found = 0
        for buffer in reads:  # type: ignore[attr-defined]  # any iterable of buffers
            for number in self._writers.get(buffer, ()):
                found |= 1 << number
        for buffer in writes:
            for number in (*self._writers.get(buffer, ()), *self._readers.get(buffer, ())):
                found |= 1 << number
        return found

    def _before_statement(self, statement: Statement, reads: set[Buffer]) -> int:
        """As `_before`; parts of a buffer that are apart may be written in any order."""
        buffer = statement.target.buffer
        parts = self._parts.get(buffer, ())
        known = {group.number for _, group in parts}
        if any(number not in known for number in self._writers.get(buffer, ())):
            return self._before(reads, [buffer])
        found = self._before(reads, ())
        for number in self._readers.get(buffer, ()):
            found |= 1 << number
        for other, group in parts:
            if not apart(other, statement):
                found |= 1 << group.number
        return found

    def _note(self, group: _Group, reads: object, writes: Sequence[Buffer]) -> None:
        for buffer in reads:  # type: ignore[attr-defined]  # any iterable of buffers
            known = self._readers.setdefault(buffer, [])
            if group.number not in known:
                known.append(group.number)
        for buffer in writes:
            known = self._writers.setdefault(buffer, [])
            if group.number not in known:
                known.append(group.number)

    def _candidates(self, before: int, reads: set[Buffer]) -> list[int]:
        makers = sorted(_bits(before), reverse=True)
        beside: set[int] = set()
        for buffer in reads:
            beside.update(self._readers.get(buffer, ())[-RECENT_READERS:])
        return makers + sorted(beside.difference(makers), reverse=True)

    def _reaches(self, groups: int, number: int) -> bool:
        """Whether one of `groups` runs after `number`."""
        return any(self._groups[each].after >> number & 1 for each in _bits(groups))

    def _extend(self, group: _Group, before: int) -> None:
        added = self._closure(before) & ~(1 << group.number)
        if added | group.after == group.after:
            return
        group.after |= added
        bit = 1 << group.number
        for other in self._groups:
            if other.after & bit:
                other.after |= group.after

    def _merge_makers(self, group: _Group, before: int) -> None:
        """Try to take in the nests that made the other operands."""
        for number in sorted(_bits(before & ~(1 << group.number)), reverse=True):
            other = self._groups[number]
            if isinstance(other.content, Nest) and not self._between(group, other):
                self._merge(group, other)

    def _between(self, left: _Group, right: _Group) -> bool:
        """Whether a third group runs after one of the two and before the other."""
        for first, second in ((left, right), (right, left)):
            bit = 1 << second.number
            for number in _bits(first.after & ~bit):
                if self._groups[number].after & bit:
                    return True
        return False

    def _merge(self, group: _Group, other: _Group) -> None:
        assert isinstance(group.content, Nest) and isinstance(other.content, Nest)
        trial = _copy(group.content)
        order = other.content.ordered()
        for index in reversed(order):
            if not trial.join(without_ones(other.content.statement_alone(index))):
                return
        group.content = trial
        self._replace(other, group)

    def _replace(self, gone: _Group, kept: _Group) -> None:
        gone_bit, kept_bit = 1 << gone.number, 1 << kept.number
        kept.after = (kept.after | gone.after) & ~(gone_bit | kept_bit)
        gone.content = None
        gone.after = 0
        for other in self._groups:
            if other.after & gone_bit:
                other.after = other.after & ~gone_bit | kept_bit
            if other.after & kept_bit:
                other.after |= kept.after
        for buffer, parts in self._parts.items():
            self._parts[buffer] = [
                (each, kept if group is gone else group) for each, group in parts
            ]
        for table in (self._writers, self._readers):
            for known in table.values():
                if gone.number in known:
                    known.remove(gone.number)
                    if kept.number not in known:
                        known.append(kept.number)


def _copy(nest: Nest) -> Nest:
    copied: Nest = object.__new__(Nest)
    copied.sizes = nest.sizes
    copied.reduced = nest.reduced
    copied.statements = list(nest.statements)
    copied.covers = list(nest.covers)
    copied.made = dict(nest.made)
    copied.cost = nest.cost
    return copied


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
