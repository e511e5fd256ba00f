"""Enters: a nest. Leaves: `Loops`, how it runs: what moves in lanes, and what each pass computes.

Invariant: a pass runs over every point of the reduced loops once; rows that earlier passes reduced
are known in it; a term of a pass reads memory and rows only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from thunk.compiler.access import Access, Buffer
from thunk.compiler.expression import Expression
from thunk.compiler.nest import Nest
from thunk.compiler.statement import Statement

RECOMPUTED = 8  # a term dearer than this is stored once instead of computed in two passes
LONGEST_ROW = 8  # vectors of a row that stay in registers from pass to pass


@dataclass(slots=True)
class Reduction:
    """One reduced row: `row` names it in the terms of later passes."""

    row: Access
    combine: str
    value: Expression


@dataclass(slots=True)
class Scatter:
    """An element written wherever `place` says, in the order of the reduced loops."""

    target: Access
    place: Expression
    combine: str
    value: Expression


@dataclass(slots=True)
class Pass:
    """What one walk over the reduced loops does; `rows` are stored once it has ended."""

    stores: list[tuple[Access, Expression]] = field(default_factory=list)
    reductions: list[Reduction] = field(default_factory=list)
    scatters: list[Scatter] = field(default_factory=list)
    rows: list[tuple[Access, Expression]] = field(default_factory=list)


@dataclass(slots=True)
class Loops:
    """Loops in the order in which they nest: parallel ones, then reduced ones."""

    sizes: tuple[int, ...]
    reduced: tuple[bool, ...]
    vector: int  # the loop that moves in lanes, -1 if there is none
    passes: list[Pass]
    before: list[tuple[Access, Expression]]  # rows that need no pass
    straight: bool  # rows are short enough to stay in registers

    @property
    def in_rows(self) -> bool:
        """Whether lanes move along a reduced loop."""
        return self.vector >= 0 and self.reduced[self.vector]

    @property
    def points(self) -> int:
        return prod(self.sizes)


class Planner:
    """Plans one nest. `stored` are the buffers that somebody reads outside of it."""

    def __init__(self, nest: Nest, stored: set[Buffer], width: int) -> None:
        self.nest = nest
        self.stored = set(stored)
        self.width = width

    def plan(self) -> Loops:
        """The nest's loops and passes."""
        collapse(self.nest)
        vector = _vector_loop(self.nest, self.width)
        order = self._loop_order(vector)
        reorder(self.nest, order)
        vector = order.index(vector) if vector >= 0 else -1
        sizes, reduced = self.nest.sizes, self.nest.reduced
        cut = [each for each, flag in enumerate(reduced) if flag]
        self._straight = (
            cut == [vector] and nest_is_plain(self.nest)
            and sizes[vector] <= LONGEST_ROW * self.width
            and -(-sizes[vector] // self.width) * self.nest.cost < 2000
        )  # fmt: skip
        passes, before = self._passes()
        return Loops(sizes, reduced, vector, passes, before, self._straight)

    def _loop_order(self, vector: int) -> list[int]:
        """Parallel loops first; within each kind, larger steps through memory outside."""
        reach = [0] * len(self.nest.sizes)
        for statement in self.nest.statements:
            for access in (*statement.reads, statement.target):
                for loop, stride in enumerate(access.strides):
                    reach[loop] = max(reach[loop], abs(stride) * access.element.itemsize)
        return sorted(
            range(len(reach)),
            key=lambda each: (self.nest.reduced[each], each == vector, -reach[each], each),
        )

    def _passes(self) -> tuple[list[Pass], list[tuple[Access, Expression]]]:
        nest = self.nest
        first = nest.statements[0]
        if first.place is not None:
            scatter = Scatter(first.target, first.place, first.combine, first.value)
            return [Pass(scatters=[scatter])], []
        order = nest.ordered()
        self._when: dict[int, int] = {}
        for index in order:
            self._when[index] = self._time(index)
        whole = [index for index in order if not self._is_row(index)]
        count = 1 + max([self._when[index] for index in whole], default=0)
        passes = [Pass() for _ in range(count)]
        before: list[tuple[Access, Expression]] = []
        self._keep_dear(whole)
        self._known: dict[tuple[int, Expression], Expression] = {}
        for index in order:
            statement, when = nest.statements[index], self._when[index]
            if any(statement.reduced):
                value = self._resolved(statement.value, when)
                passes[when].reductions.append(
                    Reduction(statement.target, statement.combine, value)
                )
                if statement.target.buffer in self.stored:
                    row = _row(statement)
                    passes[when].rows.append((statement.target, row))
            elif statement.target.buffer in self.stored:
                value = self._resolved(statement.value, max(when, 0))
                if not self._is_row(index):
                    passes[when].stores.append((statement.target, value))
                elif when < 0:
                    before.append((statement.target, value))
                else:
                    passes[when].rows.append((statement.target, value))
        return passes, before

    def _is_row(self, index: int) -> bool:
        """Whether a statement runs once for a row, after the pass of its number."""
        return not all(self.nest.covers[index])

    def _time(self, index: int) -> int:
        row = self._is_row(index)
        found = -1 if row else 0
        for access in self.nest.statements[index].reads:
            maker = self.nest.made.get(access.buffer)
            if maker is None:
                continue
            when = self._when[maker]
            after = any(self.nest.statements[maker].reduced) or self._is_row(maker)
            found = max(found, when + 1 if after and not row else when)
        return found

    def _keep_dear(self, whole: list[int]) -> None:
        """Store what a later pass reads if computing it again is dear."""
        self._kept: set[Buffer] = set()
        if self._straight:
            return
        cost: dict[Buffer, int] = {}
        for index in whole:
            statement = self.nest.statements[index]
            total = statement.value.cost
            for buffer in statement.buffers_read:
                maker = self.nest.made.get(buffer)
                if maker is None or buffer not in cost:
                    total += 1
                elif self._when[maker] == self._when[index]:
                    total += cost[buffer]
                elif cost[buffer] > RECOMPUTED:
                    self._kept.add(buffer)
                else:
                    total += cost[buffer]
            if not any(statement.reduced):
                cost[statement.target.buffer] = total
        self.stored |= self._kept

    def _resolved(self, root: Expression, when: int) -> Expression:
        """A term over memory and rows alone, as pass `when` computes it."""
        stack = [root]
        while stack:
            term = stack[-1]
            if (when, term) in self._known:
                stack.pop()
                continue
            source = self._source(term, when)
            needed = [source] if source is not None else list(term.args)
            missing = [each for each in needed if (when, each) not in self._known]
            if missing:
                stack += missing
                continue
            stack.pop()
            if source is not None:
                self._known[when, term] = self._known[when, source]
            else:
                self._known[when, term] = self._rebuilt(term, when)
        return self._known[when, root]

    def _source(self, term: Expression, when: int) -> Expression | None:
        """The term that an internal buffer's element is computed by, if it is."""
        if term.op != "load":
            return None
        maker = self.nest.made.get(term.attribute.buffer)
        if maker is None:
            return None
        statement = self.nest.statements[maker]
        if any(statement.reduced):
            return None
        later = self._when[maker] < when and term.attribute.buffer in self._kept
        return None if later else statement.value

    def _rebuilt(self, term: Expression, when: int) -> Expression:
        if term.op == "load":
            maker = self.nest.made.get(term.attribute.buffer)
            if maker is not None and any(self.nest.statements[maker].reduced):
                return _row(self.nest.statements[maker])
            return term
        args = tuple([self._known[when, each] for each in term.args])
        return term.maker.make(term.op, term.dtype, args, term.attribute)


def nest_is_plain(nest: Nest) -> bool:
    """Whether every element is written where its loops say."""
    return nest.statements[0].place is None


def _row(statement: Statement) -> Expression:
    """The finished result of a reduction, as a term."""
    maker, element = statement.value.maker, statement.target.element
    found = maker.make("row", statement.value.dtype, (), statement.target)
    return found.to(element)


def _accesses(nest: Nest) -> list[tuple[int, ...]]:
    """The strides of everything that moves along the loops."""
    found: set[tuple[int, ...]] = set()
    for statement in nest.statements:
        found.add(statement.target.strides)
        stack, seen = [statement.value, *([statement.place] if statement.place else [])], set()
        while stack:
            term = stack.pop()
            if term in seen:
                continue
            seen.add(term)
            if term.op in ("load", "lookup", "guarded"):
                found.add(term.attribute.strides)
            elif term.op == "place":
                found.add(term.attribute[0])
            stack += term.args
    return list(found)


def collapse(nest: Nest) -> None:
    """Make one loop of two wherever everything moves along both as along one."""
    changed = True
    while changed:
        changed = False
        strides = _accesses(nest)
        rank = len(nest.sizes)
        for outer in range(rank):
            for inner in range(rank):
                if outer != inner and _mergeable(nest, strides, outer, inner):
                    _merge(nest, outer, inner)
                    changed = True
                    break
            if changed:
                break


def _mergeable(nest: Nest, strides: list[tuple[int, ...]], outer: int, inner: int) -> bool:
    if nest.reduced[outer] != nest.reduced[inner]:
        return False
    if any(covers[outer] != covers[inner] for covers in nest.covers):
        return False
    size = nest.sizes[inner]
    return all(each[outer] == each[inner] * size for each in strides)


def _merge(nest: Nest, outer: int, inner: int) -> None:
    sizes = list(nest.sizes)
    sizes[inner] *= sizes[outer]
    kept = [each for each in range(len(sizes)) if each != outer]
    _rewrite(nest, tuple(sizes), kept)


def reorder(nest: Nest, order: list[int]) -> None:
    """Nest the loops in another order."""
    if order != list(range(len(order))):
        _rewrite(nest, nest.sizes, order)


def _rewrite(nest: Nest, sizes: tuple[int, ...], kept: list[int]) -> None:
    nest.sizes = tuple([sizes[each] for each in kept])
    nest.reduced = tuple([nest.reduced[each] for each in kept])
    nest.covers = [tuple([covers[each] for each in kept]) for covers in nest.covers]
    nest.statements = [
        statement.over(
            nest.sizes, tuple([statement.reduced[each] for each in kept]),
            lambda strides: tuple([strides[each] for each in kept]),
        )
        for statement in nest.statements
    ]  # fmt: skip


def _vector_loop(nest: Nest, width: int) -> int:
    """The loop along which most accesses are adjacent, and which fills the lanes best."""
    best, chosen = float("-inf"), -1
    accesses = _accesses(nest)
    scatters = not nest_is_plain(nest)
    for loop, size in enumerate(nest.sizes):
        if scatters and nest.reduced[loop]:
            continue
        gain = 0.0
        for strides in accesses:
            step = abs(strides[loop])
            gain += 1.0 if step == 1 else 0.7 if step == 0 else -2.0
        vectors = -(-size // width)
        filled = size / (vectors * width)
        score = gain * filled if gain > 0 else gain / filled
        if nest.reduced[loop]:
            score -= 0.1  # lanes of one row must be combined in the end
        if score > best:
            best, chosen = score, loop
    return chosen
