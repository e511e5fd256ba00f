"""Bags of rows of a table: sums, means and maxima, and their gradients.

Which bag an index is in is the number of offsets that are not behind it. Sums are kept in float64.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any

from thunk.backends.cpu.lowering.index import OUT_OF_SELF, in_order
from thunk.backends.cpu.lowering.order import MOST_PAIRS
from thunk.backends.reference.embedding import MAX, MEAN
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d
from thunk.types.spec import contiguous_strides


class _Table:
    """Memory with a step for each loop, filled with one value."""

    def __init__(self, at: At, shape: tuple[int, ...], element: Any, value: Any) -> None:
        if 0 in shape:
            raise Unsupported("tables of nothing")
        self.at, self.shape = at, shape
        buffer = at.lower.temporary(element, prod(shape))
        self.access = Access(buffer, element, contiguous_strides(shape))
        at.over(shape).write(self.access, at.terms.constant(value, element))

    def read(self) -> Expression:
        """The elements by the table's own loops, as they are after all writes."""
        return self.at.terms.load(self.access)

    def lookup(self, strides: tuple[int, ...], place: Expression) -> Expression:
        return self.at.terms.lookup(self.access.over(strides), place)


def _check(at: At, indices: Value, weight: Value) -> None:
    if weight.spec.dtype not in (d.float32, d.float64):
        raise Unsupported("rows that are rounded at each sum")
    if not indices.spec.numel:
        raise Unsupported("no indices")


def _line(at: At, value: Value, rank: int) -> Expression:
    """A tensor's elements along the first of `rank` loops."""
    return at.terms.load(in_order(at, value).over((1, *[0] * (rank - 1))))


def _bags(at: At, offsets: Value, count: int, include_last: bool) -> Expression:
    """The bag of each index, in one loop over them; -1 for those in none."""
    bags = offsets.spec.shape[0]
    if not bags or bags * count > MOST_PAIRS:
        raise Unsupported("no bags, or very many")
    pairs = at.over((count, bags))
    known = pairs.read_as(offsets, (0, *offsets.spec.strides)).to(d.int64)
    message = (
        "embedding_bag: offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to "
        f"start from position 0, and offsets[-1] can not be greater than input's length {count}"
    )
    number = pairs.place(1)
    fits = (number.ne(0) | known.eq(0)) & (number.ne(bags - 1) | (known <= count))
    known = at.terms.check(fits, known, at.lower.failure(RuntimeError, message))
    begun = known <= pairs.place(0)
    row = pairs.reduce("add", begun.to(d.int64), (1,))
    found = row.kept(False)[1] - 1
    return found.eq(bags - 1).where(-1, found) if include_last else found


@lowering("_embedding_bag")
def embedding_bag(
    at: At, weight: Value, indices: Value, offsets: Value, scale_grad_by_freq: bool, mode: int,
    sparse: bool, per_sample_weights: Any, include_last_offset: bool, padding_idx: int,
) -> None:  # fmt: skip
    _check(at, indices, weight)
    count, (rows, features) = indices.spec.numel, weight.spec.shape
    bags = at.result.shape[0]
    alone = at.over((count,))
    numbers = Access(at.lower.temporary(d.int64, count), d.int64, (1,))
    alone.write(numbers, _bags(at, offsets, count, include_last_offset))
    bag = at.terms.load(numbers)
    domain = at.over((count, features))
    which = _line(at, indices, 2).to(d.int64)
    message = f"embedding_bag: {OUT_OF_SELF}; expected indices from 0 to {rows - 1}"
    inside = at.within(which, rows, RuntimeError, message)
    own = at.terms.load(numbers.over((1, 0)))
    kept = which.ne(padding_idx) & (own >= 0)
    alone.store(bag, 1)
    sizes = _Table(at, (bags,), d.int64, 0)
    single = _line(at, indices, 1).to(d.int64).ne(padding_idx) & (bag >= 0)
    alone.scatter(sizes.access.over((0,)), single.where(bag, 0), single.to(d.int64), (0,), "add")
    at.over((bags,)).store(sizes.read(), 2)
    window = at.lower.window(weight)
    row = at.terms.lookup(window.over((0, window.strides[1])), inside * window.strides[0])
    place = kept.where(own, 0) * features
    if mode == MAX:
        _store_maxima(at, domain, row, indices, place, kept, bags)
        return
    term = row.to(d.float64)
    if per_sample_weights is not None:
        term = term * _line(at, per_sample_weights, 2).to(d.float64)
    total = _Table(at, (bags, features), d.float64, 0)
    domain.scatter(total.access.over((0, 1)), place, kept.where(term, 0), (0,), "add")
    whole = at.points()
    found = total.read()
    if mode == MEAN:
        found = found / at.terms.load(sizes.access.over((1, 0))).maximum(1).to(d.float64)
    whole.store(found)
    largest: Any = at.node.outputs[3].spec
    if largest.numel:
        at.over(largest.shape).store(at.terms.constant(0, largest.dtype), 3)


def _store_maxima(
    at: At, domain: Domain, row: Expression, indices: Value, place: Expression,
    kept: Expression, bags: int,
) -> None:  # fmt: skip
    """The largest element of every bag and feature, and the index of the first row with it."""
    count, features = domain.sizes
    best = _Table(at, (bags, features), row.dtype, -inf)
    domain.scatter(best.access.over((0, 1)), place, kept.where(row, -inf), (0,), "maximum")
    first = _Table(at, (bags, features), d.int64, count)
    held = best.lookup((0, 1), place)
    number = (kept & row.eq(held)).where(domain.place(0), count)
    domain.scatter(first.access.over((0, 1)), place, number, (0,), "minimum")
    whole = at.points()
    found = first.read()
    exists = found < count
    whole.store(exists.where(best.read(), 0), 0)
    line = in_order(at, indices).over((0, 0))
    index = at.terms.lookup(line, exists.where(found, 0)).to(d.int64)
    whole.store(exists.where(index, 0), 3)


@lowering("_embedding_bag_dense_backward")
def embedding_bag_backward(
    at: At, grad: Value, indices: Value, offset2bag: Value, bag_size: Value,
    maximum_indices: Value, num_weights: int, scale_grad_by_freq: bool, mode: int,
    per_sample_weights: Any, padding_idx: int,
) -> None:  # fmt: skip
    _check(at, indices, grad)
    features = grad.spec.shape[1]
    total = _Table(at, at.result.shape, d.float64, 0)
    window = at.lower.window(grad)
    if mode == MAX:
        domain = at.over(grad.spec.shape)
        full = domain.read_as(bag_size, (bag_size.spec.strides[0], 0)) > 0
        place = full.where(domain.read(maximum_indices).to(d.int64), 0) * features
        term = full.where(domain.read(grad).to(d.float64), 0)
        domain.scatter(total.access.over((0, 1)), place, term, (0,), "add")
        at.points().store(total.read())
        return
    count = indices.spec.numel
    domain = at.over((count, features))
    which, bag = (_line(at, each, 2).to(d.int64) for each in (indices, offset2bag))
    kept = which.ne(padding_idx) & (bag >= 0)
    safe = kept.where(bag, 0)
    term = at.terms.lookup(window.over((0, window.strides[1])), safe * window.strides[0])
    term = term.to(d.float64)
    if mode == MEAN:
        sizes = in_order(at, bag_size).over((0, 0))
        term = term / at.terms.lookup(sizes, safe).to(d.int64).maximum(1).to(d.float64)
    if per_sample_weights is not None:
        term = term * _line(at, per_sample_weights, 2).to(d.float64)
    place = kept.where(which, 0)
    if scale_grad_by_freq:
        often = _Table(at, (num_weights,), d.int64, 0)
        alone = at.over((count,))
        one = at.terms.constant(1, d.int64)
        own = _line(at, indices, 1).to(d.int64)
        alone.scatter(often.access.over((0,)), own, one, (0,), "add")
        term = term / often.lookup((0, 0), place).to(d.float64)
    domain.scatter(total.access.over((0, 1)), place * features, kept.where(term, 0), (0,), "add")
    at.points().store(total.read())


@lowering("_embedding_bag_per_sample_weights_backward")
def per_sample_weights_backward(
    at: At, grad: Value, weight: Value, indices: Value, offsets: Value, offset2bag: Value,
    mode: int, padding_idx: int,
) -> None:  # fmt: skip
    _check(at, indices, weight)
    count, features = indices.spec.numel, grad.spec.shape[1]
    if at.result.shape != (count,):
        raise Unsupported("weights of another shape")
    domain = at.over((count, features))
    which, bag = (_line(at, each, 2).to(d.int64) for each in (indices, offset2bag))
    parts = []
    for value, place in ((grad, bag), (weight, which)):
        window = at.lower.window(value)
        rows = at.terms.lookup(window.over((0, window.strides[1])), place * window.strides[0])
        parts.append(rows)
    term = which.ne(padding_idx).where(parts[0] * parts[1], 0)
    kept, total = domain.reduce("add", term, (1,)).kept(False)
    kept.store(total)
