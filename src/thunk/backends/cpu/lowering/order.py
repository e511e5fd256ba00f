"""Sorting of rows. In a short one an element's place is the number of those before it; the runs of
a long one are merged.

NaN is larger than everything and equals keep their order, as in the reference rules.
"""

from __future__ import annotations

import math
from math import prod
from typing import Any

import numpy

from thunk.backends.cpu.llvm.sorting import sort_rows
from thunk.backends.cpu.lowering.index import in_order
from thunk.backends.cpu.lowering.scan import run_along
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, LibraryCall, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d
from thunk.types.spec import contiguous_strides

LONGEST = 256  # elements of a row
MOST_PAIRS = 1 << 26


def _missing(value: Expression) -> Expression | None:
    return value.ne(value) if value.dtype.is_floating_point else None


def _is_before(other: Expression, own: Expression, descending: bool) -> Expression:
    """Whether `other` comes before `own` whatever their positions."""
    first, second = (own, other) if descending else (other, own)
    less = first < second
    if other.dtype.is_floating_point:
        less = less | (second.ne(second) & first.eq(first))
    return less


def _are_equal(other: Expression, own: Expression) -> Expression:
    equal = other.eq(own)
    if own.dtype.is_floating_point:
        equal = equal | (own.ne(own) & other.ne(other))
    return equal


class Rows:
    """A tensor's rows along one dimension, and the place of each element in its sorted row."""

    def __init__(self, at: At, source: Access, sizes: tuple[int, ...], dim: int,
                 descending: bool = False) -> None:  # fmt: skip
        self.at = at
        self.sizes = sizes
        self.dim = dim
        wide = at.over((*sizes, sizes[dim]))
        rank = len(sizes)
        still = list(source.strides)
        still[dim] = 0
        own = at.lower.load(source.over((*source.strides, 0)))
        other = at.lower.load(source.over((*still, source.strides[dim])))
        if own.dtype is d.bool_:
            own, other = own.to(d.int8), other.to(d.int8)
        tie = _are_equal(other, own) & (wide.place(rank) < wide.place(dim))
        before = _is_before(other, own, descending) | tie
        row = wide.reduce("add", before.to(d.int64), (rank,))
        self.domain, self.place = row.kept(False)
        self.own = at.lower.load(source)

    def _written(self, term: Expression, element: Any) -> Access:
        """The term's elements where their places in the sorted rows are."""
        at, sizes, dim = self.at, self.sizes, self.dim
        strides = contiguous_strides(sizes)
        target = Access(at.lower.temporary(element, prod(sizes)), element, strides)
        still = tuple([0 if loop == dim else step for loop, step in enumerate(strides)])
        self.domain.scatter(target.over(still), self.place * strides[dim], term, (dim,))
        return target

    def sorted(self, element: Any) -> Access:
        """The rows in order."""
        return self._written(self.own, element)

    def origins(self) -> Access:
        """Where the elements of the sorted rows were."""
        return self._written(self.domain.place(self.dim), d.int64)


class LongRows:
    """The same by merging: the order comes from a routine of its own."""

    def __init__(self, at: At, source: Access, sizes: tuple[int, ...], dim: int,
                 descending: bool = False) -> None:  # fmt: skip
        self.at, self.source, self.sizes, self.dim = at, source, sizes, dim
        self.domain = at.over(sizes)
        self.own = at.lower.load(source)
        kind = self.own.dtype if self.own.dtype.is_floating_point else d.int64
        if self.own.dtype is d.uint64:
            raise Unsupported("numbers beyond those of a signed type")
        rest = contiguous_strides((*sizes[:dim], *sizes[dim + 1 :], sizes[dim]))
        self.strides = (*rest[:dim], rest[-1], *rest[dim:-1])
        keys, self.order, room = (self._memory(each) for each in (kind, d.int64, d.int64))
        self.domain.write(keys, self.own.to(kind))
        rows = prod(sizes) // sizes[dim]
        function = sort_rows(kind.name, rows, sizes[dim], descending)
        at.lower.items.append(
            LibraryCall("sort_rows", [keys], [self.order, room], function, 0, 0, None,
                        at.node.where)
        )  # fmt: skip

    def _memory(self, element: Any) -> Access:
        buffer = self.at.lower.temporary(element, prod(self.sizes))
        return Access(buffer, element, self.strides)

    def sorted(self, element: Any) -> Access:
        """The rows in order."""
        steps = self.source.strides
        still = tuple([0 if loop == self.dim else step for loop, step in enumerate(steps)])
        place = self.at.lower.load(self.order) * steps[self.dim]
        target = self._memory(element)
        self.domain.write(target, self.at.terms.lookup(self.source.over(still), place))
        return target

    def origins(self) -> Access:
        """Where the elements of the sorted rows were."""
        return self.order


def _rows(
    at: At, source: Access, sizes: tuple[int, ...], dim: int, descending: bool = False
) -> Rows | LongRows:
    """Rows sorted in the way that suits their length."""
    short = sizes[dim] <= LONGEST and prod(sizes) * sizes[dim] <= MOST_PAIRS
    kind = Rows if short else LongRows
    return kind(at, source, sizes, dim, descending)


def _store_both(at: At, rows: Rows | LongRows, element: Any) -> None:
    """Values and indices; results may be shorter along the dimension than the rows."""
    domain = at.points()
    domain.store(at.lower.load(rows.sorted(element)), 0)
    domain.store(at.lower.load(rows.origins()), 1)


def _scalar(at: At, self: Value) -> bool:
    """Whether there is nothing to sort; then it is stored."""
    if self.spec.shape:
        return False
    domain = at.points()
    domain.store(domain.read(self), 0)
    domain.store(at.terms.constant(0, d.int64), 1)
    return True


@lowering("sort.stable")
def sort(at: At, self: Value, stable: Any, dim: int, descending: bool) -> None:
    if _scalar(at, self):
        return
    shape = self.spec.shape
    rows = _rows(at, at.lower.window(self), shape, dim % len(shape), descending)
    _store_both(at, rows, self.spec.dtype)


@lowering("topk")
def topk(at: At, self: Value, k: int, dim: int, largest: bool, sorted: bool) -> None:
    if _scalar(at, self):
        return
    shape = self.spec.shape
    rows = _rows(at, at.lower.window(self), shape, dim % len(shape), largest)
    _store_both(at, rows, self.spec.dtype)


def _store_one(
    at: At, rows: Rows | LongRows, rank: Any, dim: int, keepdim: bool, element: Any
) -> None:
    """The element of rank `rank` (a number, or a term over the rows) and where it was."""
    sizes = rows.sizes
    kept = (*sizes[:dim], 1, *sizes[dim + 1 :]) if keepdim else (*sizes[:dim], *sizes[dim + 1 :])
    domain = at.over(kept)
    memories = [rows.sorted(element)]
    if len(at.node.outputs) > 1:
        memories.append(rows.origins())
    for index, memory in enumerate(memories):
        strides = list(memory.strides)
        if keepdim:
            strides[dim] = 0
        else:
            del strides[dim]
        if isinstance(rank, int):
            offset = rank * memory.strides[dim]
            term = at.lower.load(
                Access(memory.buffer, memory.element, tuple(strides), offset)
            )
        else:
            place = rank(domain) * memory.strides[dim]
            term = at.terms.lookup(memory.over(tuple(strides)), place)
        domain.store(term, index)


@lowering("kthvalue")
def kthvalue(at: At, self: Value, k: int, dim: int, keepdim: bool) -> None:
    if _scalar(at, self):
        return
    shape = self.spec.shape
    dim %= len(shape)
    rows = _rows(at, at.lower.window(self), shape, dim)
    _store_one(at, rows, k - 1, dim, keepdim, self.spec.dtype)


def _median(at: At, self: Value, dim: int, keepdim: bool, ignore_nan: bool) -> None:
    """The middle element; of a row with NaN the first of them, unless they are ignored."""
    if _scalar(at, self):
        return
    dim %= len(self.spec.shape)
    _store_median(at, self, at.lower.window(self), self.spec.shape, dim, keepdim, ignore_nan)


def _store_median(
    at: At, self: Value, source: Access, shape: tuple[int, ...], dim: int, keepdim: bool,
    ignore_nan: bool,
) -> None:  # fmt: skip
    rows = _rows(at, source, shape, dim)
    middle = (shape[dim] - 1) // 2
    missing = _missing(rows.own)
    if missing is None:
        _store_one(at, rows, middle, dim, keepdim, self.spec.dtype)
        return
    # NaN are the last of a sorted row, so their number says at which place the first one is.
    count = rows.domain.reduce("add", missing.to(d.int64), (dim,))

    def rank(domain: Domain) -> Expression:
        absent = count.kept(keepdim)[1]
        present = shape[dim] - absent
        if ignore_nan:
            last = present - 1
            return (last > 0).where(last, 0).binary("shr", 1)
        return (absent > 0).where(present, middle)

    _store_one(at, rows, rank, dim, keepdim, self.spec.dtype)


@lowering("median.dim")
def median_dim(at: At, self: Value, dim: int, keepdim: bool) -> None:
    _median(at, self, dim, keepdim, False)


@lowering("nanmedian.dim")
def nanmedian_dim(at: At, self: Value, dim: int, keepdim: bool) -> None:
    _median(at, self, dim, keepdim, True)


@lowering("mode")
def mode(at: At, self: Value, dim: int, keepdim: bool) -> None:
    """The smallest of the most frequent elements, and where it is last; NaN are all different."""
    if _scalar(at, self):
        return
    shape, strides = self.spec.shape, self.spec.strides
    rank = len(shape)
    dim %= rank
    if shape[dim] > LONGEST or prod(shape) * shape[dim] > MOST_PAIRS:
        _mode_of_long(at, self, dim, keepdim)
        return
    wide = at.over((*shape, shape[dim]))
    still = tuple([0 if loop == dim else step for loop, step in enumerate(strides)])
    own = wide.read_as(self, (*strides, 0))
    other = wide.read_as(self, (*still, strides[dim]))
    same = own.eq(other) | wide.place(dim).eq(wide.place(rank))
    domain, count = wide.reduce("add", same.to(d.int64), (rank,)).kept(False)
    most = domain.reduce("maximum", count, (dim,))
    often = count.eq(most.again())
    value = domain.read(self)
    if value.dtype is d.bool_:
        value = value.to(d.int8)
    worst = _largest(value)
    key = often.where(value, worst)
    if value.dtype.is_floating_point:
        key = key.ne(key).where(worst, key)
    best = domain.reduce("minimum", key, (dim,))
    chosen = often & key.eq(best.again())
    place = domain.reduce("maximum", chosen.where(domain.place(dim), 0), (dim,))
    kept, index = place.kept(keepdim)
    outer = list(strides)
    if keepdim:
        outer[dim] = 0
    else:
        del outer[dim]
    source = at.lower.window(self).over(tuple(outer))
    kept.store(at.terms.lookup(source, index * strides[dim]), 0)
    kept.store(index, 1)


def _mode_of_long(at: At, self: Value, dim: int, keepdim: bool) -> None:
    """In a sorted row equals are neighbours; the last of them was the last before, too."""
    shape = self.spec.shape
    rows = LongRows(at, at.lower.window(self), shape, dim)
    keys, origins = rows.sorted(self.spec.dtype), rows.origins()
    steps = contiguous_strides(shape)
    runs, same = (Access(at.lower.temporary(d.int64, prod(shape)), d.int64, steps)
                  for _ in range(2))  # fmt: skip
    rows.domain.write(runs, at.terms.constant(1, d.int64))
    rows.domain.write(same, at.terms.constant(0, d.int64))
    later = at.over((*shape[:dim], shape[dim] - 1, *shape[dim + 1 :]))
    ahead = (Access(each.buffer, each.element, each.strides, each.offset + each.strides[dim])
             for each in (keys, same))  # fmt: skip
    own, target = ahead
    later.write(target, at.terms.load(own).eq(at.terms.load(keys)).to(d.int64))
    run_along(
        at, runs, shape, dim, lambda _, before, now: now(same).ne(0).where(before + 1, 1)
    )
    length = at.terms.load(runs)
    most = rows.domain.reduce("maximum", length, (dim,))
    ends = length.eq(most.again()).where(rows.domain.place(dim), shape[dim])
    kept, place = rows.domain.reduce("minimum", ends, (dim,)).kept(keepdim)
    for index, memory in enumerate((keys, origins)):
        outer = list(memory.strides)
        if keepdim:
            outer[dim] = 0
        else:
            del outer[dim]
        found = at.terms.lookup(memory.over(tuple(outer)), place * memory.strides[dim])
        kept.store(found, index)


def _largest(value: Expression) -> Any:
    if value.dtype.is_floating_point:
        return math.inf
    return int(numpy.iinfo(value.dtype.numpy).max)


def _median_of_all(at: At, self: Value, ignore_nan: bool) -> None:
    if not self.spec.numel:
        raise Unsupported("no elements")
    source = in_order(at, self)
    _store_median(at, self, source, (self.spec.numel,), 0, False, ignore_nan)


@lowering("median")
def median(at: At, self: Value) -> None:
    _median_of_all(at, self, False)


@lowering("nanmedian")
def nanmedian(at: At, self: Value) -> None:
    _median_of_all(at, self, True)
