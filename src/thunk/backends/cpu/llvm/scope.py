"""Enters: terms and lanes. Leaves: their values at one place in the loops, each computed once.

Invariant: an inner scope sees what outer ones computed, never the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from thunk.backends.cpu.llvm.kernel import pointer_of
from thunk.backends.cpu.llvm.terms import emit
from thunk.backends.cpu.llvm.vectors import I8, I64, Vectors, scalar_type
from thunk.compiler.access import Access
from thunk.compiler.expression import READING, Expression, constant_value
from thunk.compiler.loops import Loops
from thunk.types import dtype as d
from thunk.types.dtype import dtype


@dataclass(frozen=True, slots=True)
class Lane:
    """Where the lanes start along the vector loop, and which of them count."""

    start: ir.Value | None
    mask: ir.Value | None


@dataclass(frozen=True, slots=True)
class Spot:
    """Memory to be read and written again: one element, adjacent ones, or (-1) some anywhere."""

    vectors: Vectors
    element: dtype
    pointer: ir.Value
    mask: ir.Value | None
    stride: int

    def load(self) -> ir.Value:
        if self.stride == 0:
            return self.vectors.load_one(self.pointer, self.element)
        if self.stride == 1:
            return self.vectors.load(self.pointer, self.element, self.mask)
        return self.vectors.gather(self.pointer, self.element, self.mask)

    def store(self, value: ir.Value) -> None:
        if self.stride == 0:
            self.vectors.store_one(value, self.pointer, self.element)
        elif self.stride == 1:
            self.vectors.store(value, self.pointer, self.element, self.mask)
        else:
            self.vectors.scatter(value, self.pointer, self.element, self.mask)


class Scope:
    """What is known inside some loops."""

    def __init__(self, vectors: Vectors, loops: Loops) -> None:
        self.vectors = vectors
        self.loops = loops
        self.pointers: dict[Access, ir.Value] = {}
        self.numbers: dict[int, ir.Value] = {}
        self.partial: dict[Access, ir.Value | None] = {}
        self.indices: dict[int, ir.Value] = {}
        self.rows: dict[Access, list[ir.Value]] = {}
        self.known: dict[tuple[Expression, int], ir.Value] = {}
        self.moving: dict[Expression, frozenset[int]] = {}
        self.status: Any = None

    def inner(self) -> Scope:
        """A scope for the body of a loop."""
        found = Scope(self.vectors, self.loops)
        found.pointers, found.numbers = self.pointers, self.numbers
        found.moving, found.status, found.rows = self.moving, self.status, self.rows
        found.partial = dict(self.partial)
        found.indices = dict(self.indices)
        found.known = dict(self.known)
        return found

    def mark_open(self, loop: int) -> None:
        """Nothing is known of `loop` yet."""
        self.indices.pop(loop, None)

    def fix(self, loop: int, index: ir.Value) -> None:
        """From here on, `loop` stands at `index`."""
        self.indices[loop] = index
        for access, offset in self.partial.items():
            stride = access.strides[loop]
            if stride:
                step = self._times(index, stride)
                self.partial[access] = self._plus(offset, step)

    def _times(self, index: ir.Value, stride: int) -> ir.Value:
        return index if stride == 1 else self.vectors.builder.mul(index, I64(stride))

    def _plus(self, offset: ir.Value | None, step: ir.Value) -> ir.Value:
        return step if offset is None else self.vectors.builder.add(offset, step)

    def moves(self, term: Expression) -> frozenset[int]:
        """The loops along which a term changes."""
        found = self.moving.get(term)
        if found is None:
            stack = [term]
            while stack:
                each = stack[-1]
                missing = [arg for arg in each.args if arg not in self.moving]
                if missing:
                    stack += missing
                    continue
                stack.pop()
                self.moving[each] = self._own_moves(each).union(
                    *[self.moving[arg] for arg in each.args]
                )
            found = self.moving[term]
        return found

    def _own_moves(self, term: Expression) -> frozenset[int]:
        if term.op in READING or term.op == "row":
            strides = term.attribute.strides
        elif term.op == "place":
            strides = term.attribute[0]
        else:
            return frozenset()
        return frozenset([loop for loop, stride in enumerate(strides) if stride])

    def ready(self, term: Expression, moving: set[int]) -> bool:
        """Whether a term stays the same along `moving`, and its rows are known."""
        return not (self.moves(term) & moving) and self._rows_known(term)

    def _rows_known(self, root: Expression) -> bool:
        stack, seen = [root], set()
        while stack:
            term = stack.pop()
            if term in seen:
                continue
            seen.add(term)
            if term.op == "row" and term.attribute not in self.rows:
                return False
            stack += term.args
        return True

    def value(self, root: Expression, lane: Lane, index: int) -> ir.Value:
        """The term's vector in lane group `index`."""
        stack = [root]
        while stack:
            term = stack[-1]
            if self._find(term, index) is not None:
                stack.pop()
                continue
            missing = [arg for arg in term.args if self._find(arg, index) is None]
            if missing:
                stack += missing
                continue
            stack.pop()
            args = [self._find(arg, index) for arg in term.args]
            self.known[self._slot(term, index)] = self._compute(term, args, lane, index)
        found = self._find(root, index)
        assert found is not None
        return found

    def values(self, roots: list[Expression], lanes: list[Lane]) -> list[list[ir.Value]]:
        """Every root in every lane group, written side by side: neighbours do not wait."""
        if len(lanes) > 1:
            for term in self._order(roots):
                for index, lane in enumerate(lanes):
                    self.value(term, lane, index)
        return [
            [self.value(root, lane, index) for root in roots] for index, lane in enumerate(lanes)
        ]

    def _order(self, roots: list[Expression]) -> list[Expression]:
        """Terms that are not known yet, operands first."""
        order: list[Expression] = []
        seen: set[Expression] = set()
        for root in roots:
            stack = [(root, False)]
            while stack:
                term, finished = stack.pop()
                if finished:
                    order.append(term)
                elif term not in seen and self._find(term, 0) is None:
                    seen.add(term)
                    stack.append((term, True))
                    stack += [(each, False) for each in reversed(term.args)]
        return order

    def _slot(self, term: Expression, index: int) -> tuple[Expression, int]:
        """Terms that do not move along the lanes are shared by all groups."""
        return (term, index) if self.loops.vector in self.moves(term) else (term, 0)

    def _find(self, term: Expression, index: int) -> ir.Value | None:
        return self.known.get(self._slot(term, index))

    def _compute(self, term: Expression, args: list[Any], lane: Lane, index: int) -> ir.Value:
        vectors, op = self.vectors, term.op
        if op == "const":
            return vectors.constant(constant_value(term.attribute), scalar_type(term.dtype))
        if op == "number":
            return self._number(term)
        if op == "row":
            values = self.rows[term.attribute]
            return values[index if len(values) > 1 else 0]
        if op == "place":
            return self._place(term.attribute[0], term.attribute[1], lane)
        if op == "load":
            return self._load(term.attribute, lane)
        if op == "lookup":
            return self._lookup(term, args[0], lane)
        if op == "guarded":
            return self._guarded(term.attribute, args[0], args[1], lane)
        if op == "check":
            self._check(args[0], lane, term.attribute)
            return args[1]
        return emit(vectors, term, args)

    def _number(self, term: Expression) -> ir.Value:
        builder = self.vectors.builder
        kind = scalar_type(term.dtype)
        spot = self.numbers[term.attribute]
        if term.dtype is d.bool_:
            scalar = builder.icmp_unsigned("!=", builder.load(spot, typ=I64), I64(0))
        else:
            scalar = builder.load(spot, typ=kind)
        return self.vectors.splat(scalar)

    def _along(self, access: Access) -> int:
        return access.strides[self.loops.vector] if self.loops.vector >= 0 else 0

    def _offset(self, access: Access, lane: Lane) -> ir.Value | None:
        """Elements from where the access starts to the first lane."""
        offset, stride = self.partial[access], self._along(access)
        if stride and lane.start is not None:
            return self._plus(offset, self._times(lane.start, stride))
        return offset

    def _pointer(self, access: Access, offset: ir.Value | None) -> ir.Value:
        start = self.pointers[pointer_of(access)]
        if offset is None:
            return start
        size = access.element.itemsize
        step = self._times(offset, size)
        return self.vectors.builder.gep(start, [step], source_etype=I8)

    def _pointers(self, access: Access, offsets: ir.Value) -> ir.Value:
        """Addresses of elements at a vector of offsets."""
        builder, vectors = self.vectors.builder, self.vectors
        size = vectors.constant(access.element.itemsize, I64)
        start = vectors.splat(self.pointers[pointer_of(access)])
        return builder.gep(start, [builder.mul(offsets, size)], source_etype=I8)

    def _spread(self, offset: ir.Value | None, stride: int) -> ir.Value:
        """A vector of offsets `stride` apart."""
        steps = self.vectors.lanes(I64, stride)
        if offset is None:
            return steps
        return self.vectors.builder.add(self.vectors.splat(offset), steps)

    def _load(self, access: Access, lane: Lane) -> ir.Value:
        offset, stride = self._offset(access, lane), self._along(access)
        if stride == 0:
            return self.vectors.load_one(self._pointer(access, offset), access.element)
        if stride == 1:
            return self.vectors.load(self._pointer(access, offset), access.element, lane.mask)
        pointers = self._pointers(access, self._spread(offset, stride))
        return self.vectors.gather(pointers, access.element, lane.mask)

    def _lookup(self, term: Expression, place: ir.Value, lane: Lane) -> ir.Value:
        access: Access = term.attribute
        offset, stride = self._offset(access, lane), self._along(access)
        if self.loops.vector not in self.moves(term.args[0]) and stride in (0, 1):
            total = self._plus(offset, self.vectors.first(place))
            pointer = self._pointer(access, total)
            if stride == 0:
                return self.vectors.load_one(pointer, access.element)
            return self.vectors.load(pointer, access.element, lane.mask)
        places = self.vectors.builder.add(place, self._spread(offset, stride))
        return self.vectors.gather(self._pointers(access, places), access.element, lane.mask)

    def _guarded(self, access: Access, holds: Any, other: Any, lane: Lane) -> ir.Value:
        builder = self.vectors.builder
        mask = holds if lane.mask is None else builder.and_(holds, lane.mask)
        offset, stride = self._offset(access, lane), self._along(access)
        if stride == 1:
            found = self.vectors.load(self._pointer(access, offset), access.element, mask)
        else:
            pointers = self._pointers(access, self._spread(offset, stride))
            found = self.vectors.gather(pointers, access.element, mask)
        return builder.select(mask, found, other)

    def _place(self, strides: tuple[int, ...], offset: int, lane: Lane) -> ir.Value:
        total: ir.Value = I64(offset)
        along = 0
        for loop, stride in enumerate(strides):
            if loop == self.loops.vector:
                along = stride
            elif stride:
                total = self._plus(total, self._times(self.indices[loop], stride))
        if along:
            total = self._plus(total, self._times(lane.start, along))
            return self._spread(total, along)
        return self.vectors.splat(total)

    def _check(self, holds: ir.Value, lane: Lane, code: int) -> None:
        builder, vectors = self.vectors.builder, self.vectors
        fails = builder.not_(holds)
        if lane.mask is not None:
            fails = builder.and_(fails, lane.mask)
        bits = builder.bitcast(fails, ir.IntType(vectors.width))
        with builder.if_then(builder.icmp_unsigned("!=", bits, bits.type(0)), likely=False):
            builder.store(I64(code), self.status)

    def spot(self, access: Access, place: ir.Value, lane: Lane, term: Expression) -> Spot:
        """Where an access and a computed place lead."""
        offset, stride = self._offset(access, lane), self._along(access)
        if self.loops.vector not in self.moves(term) and stride in (0, 1):
            pointer = self._pointer(access, self._plus(offset, self.vectors.first(place)))
            return Spot(self.vectors, access.element, pointer, lane.mask, stride)
        places = self.vectors.builder.add(place, self._spread(offset, stride))
        return Spot(self.vectors, access.element, self._pointers(access, places), lane.mask, -1)

    def store(self, access: Access, value: ir.Value, lane: Lane) -> None:
        """Write the lanes that count."""
        offset, stride = self._offset(access, lane), self._along(access)
        if stride == 0:
            self.vectors.store_one(value, self._pointer(access, offset), access.element)
        elif stride == 1:
            pointer = self._pointer(access, offset)
            self.vectors.store(value, pointer, access.element, lane.mask)
        else:
            pointers = self._pointers(access, self._spread(offset, stride))
            self.vectors.scatter(value, pointers, access.element, lane.mask)
