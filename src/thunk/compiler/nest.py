"""Enters: statements that meet at equal points. Leaves: `Nest`, loops that several of them share.

Invariant: whatever a statement reads of a buffer that its own nest makes, it reads at the very
point (or row) at which it is made; nothing in a nest waits for another iteration, except for
reductions, whose results are read once their loops have ended.
"""

from __future__ import annotations

from collections.abc import Container

from thunk.compiler.access import Access, Buffer, extent
from thunk.compiler.domain import link, positions, split_strides
from thunk.compiler.expression import Expression
from thunk.compiler.statement import Statement

MOST_COST = 1200
MOST_ACCESSES = 40


class Nest:
    """Loops, some of them reduced, and the statements inside."""

    __slots__ = ("cost", "covers", "made", "reduced", "sizes", "statements")

    def __init__(self, first: Statement) -> None:
        self.sizes = first.sizes
        self.reduced = first.reduced
        self.statements = [first]
        self.covers: list[tuple[bool, ...]] = [(True,) * len(first.sizes)]
        self.made: dict[Buffer, int] = {first.target.buffer: 0}
        self.cost = first.value.cost

    @property
    def reads(self) -> set[Access]:
        """Every read of memory that the nest does not make."""
        found: set[Access] = set()
        for statement in self.statements:
            found |= {each for each in statement.reads if each.buffer not in self.made}
        return found

    @property
    def lines(self) -> list[str]:
        """The user's lines that it came from."""
        return list(dict.fromkeys(each.where for each in self.statements if each.where))

    @property
    def names(self) -> list[str]:
        """The operators that it came from."""
        return list(dict.fromkeys(each.name for each in self.statements if each.name))

    def join(self, statement: Statement) -> bool:
        """Take the statement in if its loops can be made the nest's."""
        if statement.place is not None or self.statements[0].place is not None:
            return False
        cost = self.cost + statement.value.cost
        if cost > MOST_COST:
            return False
        for own, its in self._candidates(statement):
            joined = self._aligned(statement, own, its)
            if joined is not None and self._accepts(joined):
                joined.commit(self)
                self.cost = cost
                return True
        joined = self._alike(statement)
        if joined is None or not self._accepts(joined):
            return False
        joined.commit(self)
        self.cost = cost
        return True

    def _alike(self, statement: Statement) -> _Joined | None:
        """The statement in the nest's own loops, where both read the same windows in them."""
        if statement.sizes != self.sizes:
            return None
        known = {access for each in self.statements for access in each.reads}
        if not any(access in known for access in statement.reads if any(access.strides)):
            return None
        whole = tuple([(size,) for size in self.sizes])
        joined = _Joined(self, statement, whole, whole)
        for loop in range(len(whole)):
            joined.match(loop, 0, loop, 0)
        return joined if joined.match_rest() else None

    def _candidates(self, statement: Statement) -> list[tuple[Access, Access]]:
        """Pairs of accesses to one buffer, here and there, those that move most first."""
        here: dict[Buffer, set[Access]] = {}
        for own in self.statements:
            for access in (own.target, *own.reads):
                if access.offset == 0:
                    here.setdefault(access.buffer, set()).add(access)
        pairs = []
        for access in (*statement.reads, statement.target):
            if access.offset == 0:
                for other in here.get(access.buffer, ()):
                    if other.element is access.element:
                        moving = sum(stride != 0 for stride in access.strides)
                        made = access.buffer in self.made
                        pairs.append((moving, made, other, access))
        pairs.sort(key=lambda each: (-each[0], not each[1]))
        return [(own, its) for _, _, own, its in pairs[:6]]

    def _aligned(self, statement: Statement, own: Access, its: Access) -> _Joined | None:
        found = link(statement.sizes, its.strides, self.sizes, own.strides)
        if found is None:
            return None
        joined = _Joined(self, statement, found.left, found.right)
        for left, left_piece, right, right_piece in found.pairs:
            joined.match(left, left_piece, right, right_piece)
        return joined if joined.match_rest() else None

    def _accepts(self, joined: _Joined) -> bool:
        statement = joined.statement
        covers = joined.covers
        reduced = joined.nest_reduced
        if any(statement.reduced):
            if any(reduced) and reduced != statement.reduced:
                return False
            if not all(covers):
                return False
        elif not _is_stage(covers, reduced):
            return False
        made = {each.target.buffer: each for each in joined.others}
        if any(
            (made[each.buffer].target != each or not made[each.buffer].whole)
            for each in statement.reads if each.buffer in made
        ):  # fmt: skip
            return False
        target = statement.target
        for other in joined.others:
            if other.target.buffer is target.buffer and not apart(other, statement):
                return False
            for each in other.reads:
                if each.buffer is target.buffer and (each != target or not statement.whole):
                    return False
        inside = {*made, target.buffer}
        reads = {each for other in (*joined.others, statement) for each in other.reads}
        outside = sum(each.buffer not in inside for each in reads)
        known = _places_known(statement.value, made) and all(
            _places_known(each.value, {target.buffer}) for each in joined.others
        )
        return outside <= MOST_ACCESSES and known

    def statement_alone(self, index: int) -> Statement:
        """A statement over only those loops that it runs in."""
        statement, covers = self.statements[index], self.covers[index]
        kept = [each for each, covered in enumerate(covers) if covered]
        return statement.over(
            tuple([statement.sizes[each] for each in kept]),
            tuple([statement.reduced[each] for each in kept]),
            lambda strides: tuple([strides[each] for each in kept]),
        )

    def ordered(self) -> list[int]:
        """Positions of the statements in an order in which each finds what it reads."""
        order: list[int] = []
        done: set[int] = set()

        def visit(index: int) -> None:
            if index in done:
                return
            done.add(index)
            for access in self.statements[index].reads:
                maker = self.made.get(access.buffer)
                if maker is not None:
                    visit(maker)
            order.append(index)

        for index in range(len(self.statements)):
            visit(index)
        return order


def _is_stage(covers: tuple[bool, ...], reduced: tuple[bool, ...]) -> bool:
    """Whether a statement runs at every point, or once for each row."""
    inside = {covered for covered, cut in zip(covers, reduced, strict=True) if cut}
    parallel = all(covered for covered, cut in zip(covers, reduced, strict=True) if not cut)
    return parallel and len(inside) < 2


def apart(left: Statement, right: Statement) -> bool:
    """Whether two statements certainly write different elements of their buffer."""
    if left.place is not None or right.place is not None:
        return False
    first, second = extent(left.sizes, left.target), extent(right.sizes, right.target)
    if first[1] < second[0] or second[1] < first[0]:
        return True
    steps = _moving(left)
    if steps != _moving(right) or any(stride < 0 for stride, _ in steps):
        return False
    return not _meets(abs(left.target.offset - right.target.offset), steps)


def _moving(statement: Statement) -> list[tuple[int, int]]:
    """Strides and sizes of the loops along which the target moves, large strides first."""
    pairs = zip(statement.target.strides, statement.sizes, strict=True)
    return sorted([pair for pair in pairs if pair[0]], reverse=True)


def _meets(distance: int, moving: list[tuple[int, int]]) -> bool:
    """Whether whole steps of these loops, either way, lead over the distance."""
    if not moving:
        return distance == 0
    (stride, size), rest = moving[0], moving[1:]
    reach = sum(step * (count - 1) for step, count in rest)
    near = distance // stride
    spread = reach // stride + 1
    low, high = max(near - spread, 1 - size), min(near + spread + 1, size - 1)
    return any(
        _meets(abs(distance - steps * stride), rest)
        for steps in range(low, high + 1)
        if abs(distance - steps * stride) <= reach
    )


def _places_known(root: Expression, made: Container[Buffer]) -> bool:
    """Whether nothing looks up, or reads under a condition, what the nest makes."""
    stack, seen = [root], set()
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        if term.op in ("lookup", "guarded") and term.attribute.buffer in made:
            return False
        stack += term.args
    return True


class _Joined:
    """A statement and a nest with their loops split alike, not yet committed."""

    def __init__(
        self, nest: Nest, statement: Statement, left: tuple[tuple[int, ...], ...],
        right: tuple[tuple[int, ...], ...],
    ) -> None:  # fmt: skip
        self.left = left
        self.right = right
        self.sizes = tuple([size for pieces in right for size in pieces])
        self.nest_reduced = _spread(nest.reduced, right)
        self.source = statement
        self.nest = nest
        self.place: dict[int, int] = {}  # piece of the statement -> piece of the nest
        self._left_starts = positions(left) if left else []
        self._right_starts = positions(right) if right else []
        self._left_sizes = [size for pieces in left for size in pieces]

    def match(self, left: int, left_piece: int, right: int, right_piece: int) -> None:
        self.place[self._left_starts[left] + left_piece] = self._right_starts[right] + right_piece

    def match_rest(self) -> bool:
        """Match loops that the link said nothing of, in order, if their sizes agree."""
        missing = [each for each in range(len(self._left_sizes)) if each not in self.place]
        if missing:
            taken = set(self.place.values())
            free = [each for each in range(len(self.sizes)) if each not in taken]
            if [self._left_sizes[each] for each in missing] != [self.sizes[each] for each in free]:
                return False
            self.place.update(zip(missing, free, strict=True))
        self._translate()
        return True

    def _translate(self) -> None:
        rank = len(self.sizes)
        self.covers = tuple([each in self.place.values() for each in range(rank)])

        def strides(old: tuple[int, ...]) -> tuple[int, ...]:
            new = [0] * rank
            for piece, stride in enumerate(split_strides(old, self.left)):
                new[self.place[piece]] = stride
            return tuple(new)

        cut = [False] * rank
        for piece, flag in enumerate(_spread(self.source.reduced, self.left)):
            cut[self.place[piece]] = flag
        self.statement = self.source.over(self.sizes, tuple(cut), strides)
        if all(len(pieces) == 1 for pieces in self.right):
            self.others = self.nest.statements
            return
        self.others = [
            each.over(
                self.sizes, _spread(each.reduced, self.right),
                lambda old: split_strides(old, self.right),
            )
            for each in self.nest.statements
        ]  # fmt: skip

    def commit(self, nest: Nest) -> None:
        nest.sizes = self.sizes
        reduced = self.nest_reduced
        nest.reduced = reduced if any(reduced) else self.statement.reduced
        nest.covers = [_spread(each, self.right) for each in nest.covers]
        nest.made[self.statement.target.buffer] = len(self.others)
        nest.statements = [*self.others, self.statement]
        nest.covers.append(self.covers)


def _spread(flags: tuple[bool, ...], pieces: tuple[tuple[int, ...], ...]) -> tuple[bool, ...]:
    return tuple([flag for flag, sizes in zip(flags, pieces, strict=True) for _ in sizes])


def verify_nest(nest: Nest) -> None:
    """Raise `AssertionError` if a statement reads in its nest what is not made at its point."""
    for statement, covers in zip(nest.statements, nest.covers, strict=True):
        assert statement.sizes == nest.sizes, f"{statement}: other loops than its nest's"
        assert _is_stage(covers, nest.reduced), f"{statement}: is no stage of {nest.reduced}"
        if any(statement.reduced):
            assert statement.reduced == nest.reduced, f"{statement}: reduces other loops"
        for access in statement.reads:
            maker = nest.made.get(access.buffer)
            # What is written at computed places may read what its earlier steps wrote.
            if maker is not None and statement.place is None:
                target = nest.statements[maker].target
                assert target == access, f"{statement}: reads {access}, made as {target}"
    assert len(nest.ordered()) == len(nest.statements)
