"""Enters: shapes of loops and vectors. Leaves: LLVM functions, built statement by statement.

Invariant: counters live in stack slots of the entry block; the optimiser makes registers of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from llvmlite import ir

WORD: Final = ir.IntType(64)
STATUS: Final = ir.IntType(32)
POINTER: Final = ir.PointerType()
Value = Any


def word(value: int) -> Value:
    """A constant of 64 bits."""
    return ir.Constant(WORD, value)


class Builder:
    """One function under construction."""

    def __init__(
        self,
        module: Any,
        name: str,
        arguments: Sequence[Any],
        result: Any = None,
        inner: bool = True,
    ) -> None:
        kind = ir.FunctionType(ir.VoidType() if result is None else result, arguments)
        self.function = ir.Function(module, kind, name)
        if inner:
            self.function.linkage = "internal"
        self.module = module
        self.ir = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.arguments: list[Value] = list(self.function.args)

    def slot(self, kind: Any, first: Value) -> Value:
        """A variable that holds `first`."""
        with self.ir.goto_entry_block():
            place = self.ir.alloca(kind)
        place.type = POINTER  # without a type of what it points to, as every other pointer here
        self.ir.store(first, place)
        return place

    @contextmanager
    def loop(self, start: Value, stop: Value, step: int = 1) -> Iterator[Value]:
        """Counts from `start` while below `stop`."""
        place = self.slot(WORD, start)
        head, body, done = (self.ir.append_basic_block(name) for name in ("head", "body", "done"))
        self.ir.branch(head)
        self.ir.position_at_end(head)
        count = self.ir.load(place, typ=WORD)
        self.ir.cbranch(self.ir.icmp_signed("<", count, stop), body, done)
        self.ir.position_at_end(body)
        yield count
        self.ir.store(self.ir.add(count, word(step)), place)
        self.ir.branch(head)
        self.ir.position_at_end(done)

    def add(self, *values: Value) -> Value:
        """The sum of words."""
        total = values[0]
        for value in values[1:]:
            total = self.ir.add(total, value)
        return total

    def mul(self, left: Value, right: Value) -> Value:
        return self.ir.mul(left, right)

    def smaller(self, left: Value, right: Value) -> Value:
        return self.ir.select(self.ir.icmp_signed("<", left, right), left, right)

    def at(self, base: Value, kind: Any, index: Value) -> Value:
        """The address of the element `index` of an array of `kind`."""
        return self.ir.gep(base, [index], source_etype=kind)

    def word_at(self, base: Value, index: int) -> Value:
        """The word `index` of a table."""
        return self.ir.load(self.at(base, WORD, word(index)), typ=WORD)

    def pointer_at(self, base: Value, index: Value) -> Value:
        """The pointer `index` of a table."""
        return self.ir.load(self.at(base, POINTER, index), typ=POINTER)

    def intrinsic(self, name: str, result: Any, *arguments: Value) -> Value:
        """Call an intrinsic or a C function, declared by its first use."""
        found = self.module.globals.get(name)
        if found is None:
            kind = ir.FunctionType(result, [each.type for each in arguments])
            found = ir.Function(self.module, kind, name)
        return self.ir.call(found, list(arguments))


class Lanes:
    """Vectors of one element type at the machine's width."""

    def __init__(self, builder: Builder, scalar: Any, count: int) -> None:
        self.build = builder
        self.scalar = scalar
        self.count = count
        self.kind = ir.VectorType(scalar, count)
        self.mask_kind = ir.VectorType(ir.IntType(1), count)
        self.size = 4 if isinstance(scalar, ir.FloatType) else 8
        self.suffix = f"v{count}f{self.size * 8}"

    @property
    def zero(self) -> Value:
        return ir.Constant(self.kind, [0.0] * self.count)

    def load(self, address: Value, mask: Value | None = None) -> Value:
        """A vector; lanes outside the mask are zero and are not touched in memory."""
        if mask is None:
            return self.build.ir.load(address, typ=self.kind, align=self.size)
        align = ir.Constant(ir.IntType(32), self.size)
        name = f"llvm.masked.load.{self.suffix}.p0"
        return self.build.intrinsic(name, self.kind, address, align, mask, self.zero)

    def store(self, value: Value, address: Value, mask: Value | None = None) -> None:
        if mask is None:
            self.build.ir.store(value, address, align=self.size)
            return
        align = ir.Constant(ir.IntType(32), self.size)
        name = f"llvm.masked.store.{self.suffix}.p0"
        self.build.intrinsic(name, ir.VoidType(), value, address, align, mask)

    def splat(self, value: Value) -> Value:
        """The same number in every lane."""
        return self._spread(value, self.kind)

    def _spread(self, value: Value, kind: Any) -> Value:
        first = ir.Constant(ir.IntType(32), 0)
        single = self.build.ir.insert_element(ir.Constant(kind, ir.Undefined), value, first)
        order = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
        return self.build.ir.shuffle_vector(single, ir.Constant(kind, ir.Undefined), order)

    def first_lanes(self, count: Value) -> Value:
        """The mask of the first `count` lanes."""
        kind = ir.VectorType(WORD, self.count)
        numbers = ir.Constant(kind, list(range(self.count)))
        return self.build.ir.icmp_signed("<", numbers, self._spread(count, kind))

    def fma(self, left: Value, right: Value, addend: Value) -> Value:
        return self.build.intrinsic(f"llvm.fma.{self.suffix}", self.kind, left, right, addend)

    def sum(self, value: Value) -> Value:
        """The sum of the lanes, by halves."""
        number = ir.IntType(32)
        count = self.count
        while count > 1:
            count //= 2
            nothing = ir.Constant(value.type, ir.Undefined)
            low, high = (
                ir.Constant(ir.VectorType(number, count), list(range(start, start + count)))
                for start in (0, count)
            )
            value = self.build.ir.fadd(
                self.build.ir.shuffle_vector(value, nothing, low),
                self.build.ir.shuffle_vector(value, nothing, high),
            )
        return self.build.ir.extract_element(value, ir.Constant(ir.IntType(32), 0))
