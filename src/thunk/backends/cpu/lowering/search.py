"""Where values belong in a sorted sequence, and which are in a list."""

from __future__ import annotations

from typing import Any

from thunk.backends.cpu.lowering.comparison import common_dtype
from thunk.backends.cpu.lowering.index import in_order
from thunk.backends.cpu.lowering.order import LONGEST, MOST_PAIRS
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d


@lowering("searchsorted.Tensor")
def searchsorted(
    at: At, sorted_sequence: Value, self: Value, out_int32: bool, right: bool, side: Any,
    sorter: Any,
) -> None:  # fmt: skip
    """The number of elements of the sequence before each value."""
    sequence = sorted_sequence.spec
    size = sequence.shape[-1]
    if sorter is not None or sequence.dtype is not self.spec.dtype:
        raise Unsupported("a sequence that is sorted by indices")
    shape = at.result.shape
    if size > LONGEST or sequence.dtype.is_inexact:
        _search(at, sorted_sequence, self, right or side == "right")
        return
    domain = at.over((*shape, size))
    leading = (0,) * len(shape) if len(sequence.shape) == 1 else (*sequence.strides[:-1], 0)
    known = at.lower.load(
        at.lower.window(sorted_sequence).over((*leading, sequence.strides[-1]))
    )
    value = domain.read_as(self, (*self.spec.strides, 0))
    after = right or side == "right"
    beyond = known > value if after else known >= value
    kept, count = domain.reduce("add", (~beyond).to(d.int64), (len(shape),)).kept(False)
    kept.store(count)


@lowering("isin.Tensor_Tensor")
def isin(
    at: At, elements: Value, test_elements: Value, assume_unique: bool, invert: bool
) -> None:
    """Every element against every one of the others."""
    count = test_elements.spec.numel
    if not count:
        domain = at.points()
        domain.store(at.terms.constant(invert, d.bool_))
        return
    if count > LONGEST or count * elements.spec.numel > MOST_PAIRS:
        raise Unsupported("a long list")
    shape = at.result.shape
    domain = at.over((*shape, count))
    wide = common_dtype(elements, test_elements)
    own = domain.read_as(elements, (*elements.spec.strides, 0)).to(wide)
    other = at.lower.load(in_order(at, test_elements).over((*[0] * len(shape), 1))).to(wide)
    kept, found = domain.reduce("or", own.eq(other), (len(shape),)).kept(False)
    kept.store(~found if invert else found)


def _search(at: At, sorted_sequence: Value, self: Value, after: bool) -> None:
    """The same by halves. Where NaN stand in the sequence, which ones are looked at decides."""
    sequence = sorted_sequence.spec
    size = sequence.shape[-1]
    domain = at.points()
    rank = len(domain.sizes)
    leading = (0,) * rank if len(sequence.shape) == 1 else (*sequence.strides[:-1], 0)
    access = at.lower.window(sorted_sequence).over(leading)
    value = domain.read(self)
    first: Expression = at.terms.constant(0, d.int64)
    end: Expression = at.terms.constant(size, d.int64)
    for _ in range(size.bit_length()):
        left = first < end
        middle = first + (end - first).binary("shr", 1)
        known = at.terms.lookup(access, left.where(middle, 0) * sequence.strides[-1])
        beyond = known > value if after else known >= value
        first = (left & ~beyond).where(middle + 1, first)
        end = (left & beyond).where(middle, end)
    domain.store(first)
