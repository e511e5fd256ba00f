"""Enters: an expression over loops. Leaves: `Statement`: what is stored where, at every point.

Invariant: a map writes `target` at every point of its loops; a reduction combines its value over
the reduced loops, and `target` does not move along them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from thunk.compiler.access import Access, Buffer, extent
from thunk.compiler.expression import Expression

COMBINERS = frozenset({"add", "mul", "maximum", "minimum", "and", "or"})


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """One assignment in a loop nest. `whole` says that it fills all of its target's buffer.

    With `place`, the element that far from the target is written, in the order of the reduced
    loops; parallel loops must then lead to different elements.
    """

    sizes: tuple[int, ...]
    reduced: tuple[bool, ...]
    target: Access
    value: Expression
    combine: str = ""
    where: str = ""
    name: str = ""
    place: Expression | None = None

    @property
    def reads(self) -> frozenset[Access]:
        return self.value.reads if self.place is None else self.value.reads | self.place.reads

    @property
    def buffers_read(self) -> set[Buffer]:
        found = {each.buffer for each in self.reads}
        return found if self.place is None else found | {self.target.buffer}

    @property
    def whole(self) -> bool:
        """Whether every element of the target's buffer is written, each once."""
        if self.place is not None:
            return False
        points = 1
        for size, stride in zip(self.sizes, self.target.strides, strict=True):
            points *= size if stride else 1
        return self.target.offset == 0 and points == self.target.buffer.size

    def over(
        self, sizes: tuple[int, ...], reduced: tuple[bool, ...],
        strides: Callable[[tuple[int, ...]], tuple[int, ...]],
    ) -> Statement:  # fmt: skip
        """The same assignment in other loops; `strides` translates what moves along them."""

        def leaf(term: Expression) -> object:
            if term.op == "place":
                return strides(term.attribute[0]), term.attribute[1]
            access: Access = term.attribute
            return access.over(strides(access.strides))

        change: dict[Expression, Expression] = {}
        value = self.value.maker.mapped(self.value, change, leaf)
        place = self.place
        if place is not None:
            place = place.maker.mapped(place, change, leaf)
        target = self.target.over(strides(self.target.strides))
        return replace(
            self, sizes=sizes, reduced=reduced, target=target, value=value, place=place
        )

    def __str__(self) -> str:
        over = ", ".join(
            f"{'+' if cut else ''}{size}" for size, cut in zip(self.sizes, self.reduced)
        )
        equals = f"{self.combine}=" if self.combine else "="
        at = "" if self.place is None else f" at {self.place}"
        return f"[{over}] {self.target}{at} {equals} {self.value}"


def without_ones(statement: Statement) -> Statement:
    """Loops of size one left out."""
    kept = [index for index, size in enumerate(statement.sizes) if size != 1]
    if len(kept) == len(statement.sizes):
        return statement
    return statement.over(
        tuple([statement.sizes[each] for each in kept]),
        tuple([statement.reduced[each] for each in kept]),
        lambda strides: tuple([strides[each] for each in kept]),
    )


def verify_statement(statement: Statement) -> None:
    """Raise `AssertionError` if it reaches outside of memory or combines by an unknown rule."""
    rank = len(statement.sizes)
    assert len(statement.reduced) == rank, f"{statement}: reduced loops are not its loops"
    for access in (statement.target, *statement.reads):
        assert len(access.strides) == rank, f"{statement}: {access} counts other loops"
    if statement.place is not None:
        return
    assert statement.combine in COMBINERS or not any(statement.reduced), f"{statement}: no combiner"
    for access in (statement.target, *_plain_reads(statement.value)):
        low, high = extent(statement.sizes, access)
        size = access.buffer.nbytes // access.element.itemsize
        assert low >= 0 and high < max(size, 1), f"{statement}: {access} leaves its buffer"
    for stride, cut in zip(statement.target.strides, statement.reduced, strict=True):
        assert not (cut and stride), f"{statement}: the target moves along a reduced loop"


def _plain_reads(root: Expression) -> set[Access]:
    """Reads whose place is known; a guarded read may reach outside, its guard keeps it in."""
    found: set[Access] = set()
    stack = [root]
    seen: set[Expression] = set()
    while stack:
        term = stack.pop()
        if term in seen or term.op == "guarded":
            continue
        seen.add(term)
        if term.op == "load":
            found.add(term.attribute)
        stack += term.args
    return found
