"""Enters: planned loops. Leaves: their function in vector IR.

Invariant: a term is computed in the outermost loop in which it does not change, once per scope;
stores come after every read of the same point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from thunk.backends.cpu.llvm.kernel import (
    Shape,
    pointer_of,
    shape_of,
    signature_of,
    targets_of,
    terms_of,
)
from thunk.backends.cpu.llvm.scope import Lane, Scope
from thunk.backends.cpu.llvm.terms import across, combine, identity
from thunk.backends.cpu.llvm.vectors import I64, POINTER, Vectors
from thunk.compiler.access import Access
from thunk.compiler.expression import READING, Expression
from thunk.compiler.loops import Loops, Pass, Reduction, Scatter

_WEIGHTS = {"math": 30, "div": 4, "sqrt": 4, "const": 0, "number": 0}
UNROLL = 4  # accumulators of a row
BLOCKED = 128  # iterations whose sums are kept apart from those of others, for accuracy

Carried = list[ir.Value]


class Emitter:
    """Writes one kernel."""

    def __init__(self, loops: Loops, width: int, name: str) -> None:
        self.loops = loops
        self.shape: Shape = shape_of(loops, width)
        self.signature = signature_of(loops, width)
        self.module = ir.Module(name)
        kind = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I64, I64])
        self.function = ir.Function(self.module, kind, name)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.vectors = Vectors(self.builder, width)
        self.width = width
        self.accesses = {
            term.attribute for term in terms_of(loops) if term.op in READING
        } | set(targets_of(loops))  # fmt: skip
        self.cut = [each for each, flag in enumerate(loops.reduced) if flag]

    def emit(self) -> str:
        """The module's text."""
        scope = Scope(self.vectors, self.loops)
        self._read_table(scope)
        begin, end = self.function.args[2:]
        for index in range(len(self.loops.sizes)):
            scope.mark_open(index)
        self._hoist(self._roots(), scope, set(range(len(self.loops.sizes))))
        self._count(begin, end, 1, [], lambda unit, carried: self._unit(unit, scope))
        self.builder.ret_void()
        return str(self.module)

    def _read_table(self, scope: Scope) -> None:
        bases, operands = self.function.args[:2]
        self.status = self._entry(bases, 2, POINTER)
        position = 0
        for access in self.signature.pointers:
            base = self._entry(operands, position, I64)
            offset = self._entry(operands, position + 1, I64)
            start = self.builder.load(
                self.builder.gep(bases, [base], source_etype=I64), typ=POINTER
            )
            scope.pointers[access] = self.builder.gep(
                start, [offset], source_etype=ir.IntType(8)
            )
            position += 2
        numbers = self._entry(bases, 1, POINTER)
        for number in self.signature.numbers:
            place = self._entry(operands, position, I64)
            scope.numbers[number] = self.builder.gep(numbers, [place], source_etype=I64)
            position += 1
        self.length = self._entry(operands, position, I64) if self.shape.open_length else None
        scope.status = self.status
        for access in self.accesses:
            scope.partial[access] = None

    def _entry(self, table: ir.Value, position: int, kind: Any) -> ir.Value:
        spot = self.builder.gep(table, [I64(position)], source_etype=I64)
        return self.builder.load(spot, typ=kind)

    def _roots(self) -> list[Expression]:
        roots = [value for _, value in self.loops.before]
        for each in self.loops.passes:
            roots += _pass_roots(each)
        return roots

    def _unit(self, unit: ir.Value, outside: Scope) -> Carried:
        """One unit: fix the parallel loops, then run the passes."""
        scope = outside.inner()
        loops, shape, builder = self.loops, self.shape, self.builder
        parallel = [each for each, flag in enumerate(loops.reduced) if not flag]
        vector = loops.vector if loops.vector >= 0 and not loops.in_rows else -1
        block = None
        if vector >= 0:
            if shape.blocks > 1 or shape.open_length:
                if shape.outer:
                    block = builder.urem(unit, I64(shape.blocks))
                    unit = builder.udiv(unit, I64(shape.blocks))
                else:
                    block = unit
            else:
                block = I64(0)
        outer = [each for each in parallel if each != vector]
        for position in reversed(outer):
            if position == outer[0]:
                scope.fix(position, unit)
            else:
                size = I64(loops.sizes[position])
                scope.fix(position, builder.urem(unit, size))
                unit = builder.udiv(unit, size)
        if vector < 0:
            self._rows_at([Lane(None, None)], scope)
        elif not self.cut:
            self._elements(vector, block, scope)
        else:
            self._columns(vector, block, scope)
        return []

    def _elements(self, vector: int, block: Any, scope: Scope) -> None:
        """Lanes along a parallel loop, nothing reduced."""
        builder, shape = self.builder, self.shape
        size = self.length if self.length is not None else I64(self.loops.sizes[vector])
        low = builder.mul(block, I64(shape.block))
        high = builder.add(low, I64(shape.block))
        high = builder.select(builder.icmp_signed("<", high, size), high, size)
        if shape.blocks == 1 and not shape.open_length:
            low, high = I64(0), size
        self._hoist(self._roots(), scope, {vector})

        group = self._side_by_side()
        step = self.width * group

        def body(start: ir.Value, carried: Carried) -> Carried:
            lanes = [Lane(start, None)]
            for index in range(1, group):
                lanes.append(Lane(builder.add(start, I64(index * self.width)), None))
            self._point(lanes, scope.inner(), self.loops.passes[0])
            return []

        def rest(start: ir.Value, carried: Carried) -> Carried:
            mask = self.vectors.mask(builder.sub(high, start))
            self._point([Lane(start, mask)], scope.inner(), self.loops.passes[0])
            return []

        if not shape.open_length and self.loops.sizes[vector] % step == 0:
            self._count(low, high, step, [], body)
            return
        whole = builder.udiv(builder.sub(high, low), I64(step))
        middle = builder.add(low, builder.mul(whole, I64(step)))
        self._count(low, middle, step, [], body, sure=False)
        self._count(middle, high, self.width, [], rest, sure=False)

    def _side_by_side(self) -> int:
        """Vectors that are computed at once, so that long chains of dependent steps overlap."""
        dear = sum(_WEIGHTS.get(term.op, 1) for term in terms_of(self.loops))
        vectors = 1 if dear < 50 else 4 if dear < 250 else 3
        length = self.loops.sizes[self.loops.vector]
        return vectors if length >= vectors * self.width or self.shape.open_length else 1

    def _columns(self, vector: int, block: Any, scope: Scope) -> None:
        """Lanes along a parallel loop, others reduced: some vectors side by side."""
        size = self.loops.sizes[vector]
        start = self.builder.mul(block, I64(self.shape.block))
        lanes = []
        for each in range(self.shape.block // self.width):
            first = self.builder.add(start, I64(each * self.width))
            mask = None
            if size % self.shape.block:
                mask = self.vectors.mask(self.builder.sub(I64(size), first))
            lanes.append(Lane(first, mask))
        self._rows_at(lanes, scope)

    def _rows_at(self, lanes: list[Lane], scope: Scope) -> None:
        """Everything of one row, or of some columns: passes and what lies between them."""
        for access, value in self.loops.before:
            self._store_all(lanes, scope, [(access, value)])
        for each in self.loops.passes:
            if self.cut:
                self._pass(each, lanes, scope)
            else:
                self._point(lanes, scope, each)
            self._store_all(lanes, scope, each.rows)

    def _pass(self, each: Pass, lanes: list[Lane], scope: Scope) -> None:
        roots = _pass_roots(each)
        for lane_index in range(len(lanes)):
            self._hoist(roots, scope, set(self.cut), lanes, lane_index)
        if self.loops.in_rows:
            parts = self._row(each, scope)
        else:
            parts = self._walk(self.cut, lanes, scope, each, self._starts(each, len(lanes)))
        count = len(lanes)
        for index, reduction in enumerate(each.reductions):
            values = parts[index * count : (index + 1) * count]
            scope.rows[reduction.row] = values

    def _starts(self, each: Pass, count: int) -> Carried:
        return [
            identity(self.vectors, reduction.combine, reduction.value.dtype)
            for reduction in each.reductions for _ in range(count)
        ]  # fmt: skip

    def _row(self, each: Pass, scope: Scope) -> Carried:
        """Lanes along a reduced loop; returns each reduction's result in every lane."""
        vector = self.loops.vector
        outer = [loop for loop in self.cut if loop != vector]
        count = self._row_lanes()
        parts = self._walk(outer, [], scope, each, self._starts(each, count))
        found = []
        for index, reduction in enumerate(each.reductions):
            values = parts[index * count : (index + 1) * count]
            total = self._tree(reduction, values)
            found.append(across(self.vectors, reduction.combine, reduction.value.dtype, total))
        return found

    def _row_lanes(self) -> int:
        """Accumulators of a row."""
        vectors = -(-self.loops.sizes[self.loops.vector] // self.width)
        if self.loops.straight:
            return vectors
        return UNROLL if vectors >= 2 * UNROLL else 1

    def _tree(self, reduction: Reduction, values: Carried) -> ir.Value:
        while len(values) > 1:
            values = [
                self._combined(reduction, values[i], values[i + 1])
                if i + 1 < len(values) else values[i]
                for i in range(0, len(values), 2)
            ]  # fmt: skip
        return values[0]

    def _combined(self, reduction: Reduction, left: ir.Value, right: ir.Value) -> ir.Value:
        return combine(self.vectors, reduction.combine, reduction.value.dtype, left, right)

    def _walk(
        self, order: list[int], lanes: list[Lane], scope: Scope, each: Pass, carried: Carried
    ) -> Carried:
        """The reduced loops `order` from the outermost in; ends in a row or a point."""
        if not order:
            if self.loops.in_rows:
                return self._row_body(scope, each, carried)
            return self._point(lanes, scope, each, carried)
        loop, rest = order[0], order[1:]

        def body(index: ir.Value, inside: Carried) -> Carried:
            inner = scope.inner()
            inner.fix(loop, index)
            left = {*rest, self.loops.vector} if self.loops.in_rows else set(rest)
            for lane_index in range(max(len(lanes), 1)):
                self._hoist(_pass_roots(each), inner, left, lanes, lane_index)
            return self._walk(rest, lanes, inner, each, inside)

        return self._summed(self.loops.sizes[loop], 1, carried, each, body)

    def _summed(
        self, size: int, step: int, carried: Carried, each: Pass,
        body: Callable[[ir.Value, Carried], Carried],
    ) -> Carried:  # fmt: skip
        """A counted loop; a long one is cut in blocks whose partial results are combined."""
        if size // step <= BLOCKED or not each.reductions:
            return self._count(I64(0), I64(size), step, carried, body)
        block = BLOCKED * step
        count = len(carried) // len(each.reductions)

        def outer(start: ir.Value, totals: Carried) -> Carried:
            end = self.builder.add(start, I64(block))
            end = self.builder.select(
                self.builder.icmp_signed("<", end, I64(size)), end, I64(size)
            )
            parts = self._count(start, end, step, self._starts(each, count), body)
            return [
                self._combined(each.reductions[index // count], total, part)
                for index, (total, part) in enumerate(zip(totals, parts, strict=True))
            ]

        if size > block * BLOCKED:
            return self._nested(size, block, carried, each, outer)
        return self._count(I64(0), I64(size), block, carried, outer)

    def _nested(
        self, size: int, block: int, carried: Carried, each: Pass,
        outer: Callable[[ir.Value, Carried], Carried],
    ) -> Carried:  # fmt: skip
        """A third level, for very long sums."""
        count = len(carried) // len(each.reductions)
        span = block * BLOCKED

        def outermost(start: ir.Value, totals: Carried) -> Carried:
            end = self.builder.add(start, I64(span))
            end = self.builder.select(
                self.builder.icmp_signed("<", end, I64(size)), end, I64(size)
            )
            parts = self._count(start, end, block, self._starts(each, count), outer)
            return [
                self._combined(each.reductions[index // count], total, part)
                for index, (total, part) in enumerate(zip(totals, parts, strict=True))
            ]

        return self._count(I64(0), I64(size), span, carried, outermost)

    def _row_body(self, scope: Scope, each: Pass, carried: Carried) -> Carried:
        """The vector loop of a row: whole groups of vectors, whole vectors, a masked rest."""
        size, width = self.loops.sizes[self.loops.vector], self.width
        group = self._row_lanes()
        if self.loops.straight:
            lanes = []
            for index in range(group):
                rest = size - index * width
                mask = self.vectors.mask(I64(rest)) if rest < width else None
                lanes.append(Lane(I64(index * width), mask))
            return self._point(lanes, scope, each, carried)

        def body(start: ir.Value, inside: Carried) -> Carried:
            lanes = [
                Lane(self.builder.add(start, I64(index * width)), None) for index in range(group)
            ]
            return self._point(lanes, scope.inner(), each, inside)

        whole = size // (group * width) * (group * width)
        if whole:
            carried = self._summed(whole, group * width, carried, each, body)
        for start in range(whole, size, width):
            mask = self.vectors.mask(I64(size - start)) if size - start < width else None
            lane = [Lane(I64(start), mask)]
            first = carried[:: max(group, 1)] if group else []
            parts = self._point(lane, scope.inner(), each, first)
            carried = list(carried)
            carried[::group] = parts
        return carried

    def _point(
        self, lanes: list[Lane], scope: Scope, each: Pass, carried: Carried | None = None
    ) -> Carried:
        """Values of one point in each lane group, then the stores, then the reductions."""
        roots = [value for _, value in each.stores]
        roots += [reduction.value for reduction in each.reductions]
        results = scope.values(roots, lanes)
        for index, lane in enumerate(lanes):
            for position, (access, _) in enumerate(each.stores):
                scope.store(access, results[index][position], lane)
        for scatter in each.scatters:
            for index, lane in enumerate(lanes):
                self._scatter(scatter, scope, lane, index)
        found = []
        stores, count = len(each.stores), len(lanes)
        for position, reduction in enumerate(each.reductions):
            for index, lane in enumerate(lanes):
                value = results[index][stores + position]
                if lane.mask is not None and self.loops.in_rows:
                    other = identity(self.vectors, reduction.combine, reduction.value.dtype)
                    value = self.builder.select(lane.mask, value, other)
                assert carried is not None
                found.append(self._combined(reduction, carried[position * count + index], value))
        return found

    def _scatter(self, scatter: Scatter, scope: Scope, lane: Lane, index: int) -> None:
        """Write elements whose places are computed; those of different lanes differ."""
        place = scope.value(scatter.place, lane, index)
        value = scope.value(scatter.value, lane, index)
        spot = scope.spot(scatter.target, place, lane, scatter.place)
        if scatter.combine:
            kind = scatter.value.dtype
            value = combine(self.vectors, scatter.combine, kind, spot.load(), value)
        spot.store(value)

    def _store_all(
        self, lanes: list[Lane], scope: Scope, rows: list[tuple[Access, Expression]]
    ) -> None:
        """Every value is read before the first is stored: one may take over another's memory."""
        values = [
            [scope.value(value, lane, index) for _, value in rows]
            for index, lane in enumerate(lanes)
        ]
        for lane, found in zip(lanes, values, strict=True):
            for (access, _), value in zip(rows, found, strict=True):
                scope.store(access, value, lane)

    def _hoist(
        self, roots: list[Expression], scope: Scope, moving: set[int],
        lanes: list[Lane] | None = None, lane_index: int = 0,
    ) -> None:  # fmt: skip
        """Compute every term that does not change along `moving` before those loops start."""
        lane = lanes[lane_index] if lanes else Lane(None, None)
        seen: set[Expression] = set()
        stack = list(roots)
        while stack:
            term = stack.pop()
            if term in seen or term.op == "const":
                continue
            seen.add(term)
            if scope.ready(term, moving):
                scope.value(term, lane, lane_index)
            else:
                stack += term.args

    def _count(
        self, low: ir.Value, high: ir.Value, step: int, carried: Carried,
        body: Callable[[ir.Value, Carried], Carried], sure: bool = True,
    ) -> Carried:  # fmt: skip
        """A loop from `low` to below `high`; `sure` says that it runs at least once."""
        builder, function = self.builder, self.function
        before = builder.block
        inside = function.append_basic_block()
        after = function.append_basic_block()
        if sure:
            builder.branch(inside)
        else:
            builder.cbranch(builder.icmp_signed("<", low, high), inside, after)
        builder.position_at_end(inside)
        index = builder.phi(I64)
        index.add_incoming(low, before)
        phis = []
        for value in carried:
            phi = builder.phi(value.type)
            phi.add_incoming(value, before)
            phis.append(phi)
        results = body(index, list(phis))
        following = builder.add(index, I64(step))
        last = builder.block
        index.add_incoming(following, last)
        for phi, value in zip(phis, results, strict=True):
            phi.add_incoming(value, last)
        builder.cbranch(builder.icmp_signed("<", following, high), inside, after)
        builder.position_at_end(after)
        return results


def _pass_roots(each: Pass) -> list[Expression]:
    roots = [reduction.value for reduction in each.reductions]
    roots += [value for _, value in each.stores]
    for scatter in each.scatters:
        roots += [scatter.place, scatter.value]
    return roots


def emit_kernel(loops: Loops, width: int, name: str) -> str:
    """The kernel's module as text."""
    return Emitter(loops, width, name).emit()


__all__ = ["Emitter", "emit_kernel", "pointer_of"]
