"""Sums of elements whose places are known now: along one dimension after the other.

Enters: a tensor and, for each result index along a dimension, which elements it sums with which
weights. Leaves: terms over tables that the program brings along.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy

from thunk.backends.reference.taps import Taps
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression, working
from thunk.compiler.lowering import At, Domain, Unsupported
from thunk.types.spec import contiguous_strides

UNROLLED = 8  # sums of more elements are loops


def gathered(at: At, domain: Domain, source: Access, places: Sequence[Any]) -> Expression:
    """The element whose index along dimension `d` is `places[d]` of the result's; None: the same.

    Dimensions of the source are the last ones of the loops, or all of them.
    """
    strides = list(source.strides)
    place: Expression | None = None
    for dim, table in enumerate(places):
        if table is None:
            continue
        step = domain.table(numpy.asarray(table, numpy.int64) * strides[dim], (dim,))
        place = step if place is None else place + step
        strides[dim] = 0
    access = source.over(tuple(strides))
    return at.lower.load(access) if place is None else at.terms.lookup(access, place)


def sum_along(
    at: At, source: Access, shape: tuple[int, ...], axes: Sequence[tuple[int, Taps]]
) -> tuple[Domain, Expression]:
    """The weighted sums along each axis in turn; loops over the result and the term in them."""
    element = working(source.element)
    for position, (axis, taps) in enumerate(axes):
        domain, term = _summed(at, source, shape, axis, taps)
        if position == len(axes) - 1:
            return domain, term
        shape = domain.sizes
        source = Access(
            at.lower.temporary(element, prod(shape)), element, contiguous_strides(shape)
        )
        domain.write(source, term)
    domain = at.over(shape)
    return domain, at.lower.load(source)


def _summed(
    at: At, source: Access, shape: tuple[int, ...], axis: int, taps: Taps
) -> tuple[Domain, Expression]:
    count, out = taps.index.shape
    if not working(source.element).is_floating_point and taps.weight is not None:
        raise Unsupported("weighted sums of integers")
    sizes = (*shape[:axis], out, *shape[axis + 1 :])
    if count <= UNROLLED:
        domain = at.over(sizes)
        total: Expression | None = None
        for k in range(count):
            term = _tap(at, domain, source, axis, taps, k, (axis,))
            total = term if total is None else total + term
        return domain, at.terms.constant(0, source.element) if total is None else total
    wide = at.over((*sizes, count))
    row = wide.reduce("add", _tap(at, wide, source, axis, taps, None, (axis, len(sizes))),
                      (len(sizes),))  # fmt: skip
    return row.kept(False)


def _tap(
    at: At, domain: Domain, source: Access, axis: int, taps: Taps, k: int | None,
    loops: tuple[int, ...],
) -> Expression:  # fmt: skip
    """Tap `k`, or all of them along the last loop."""

    def table(array: Any) -> Expression:
        return domain.table(array.T if k is None else array[k], loops)

    strides = list(source.strides) + [0] * (len(domain.sizes) - len(source.strides))
    step = strides[axis]
    strides[axis] = 0
    place = table(taps.index.astype(numpy.int64) * step)
    term = at.terms.lookup(source.over(tuple(strides)), place)
    if taps.weight is not None:
        term = term * table(taps.weight.astype(term.dtype.numpy))
    if taps.present is not None and not taps.present.all():
        zero = at.terms.constant(0, term.dtype)
        term = table(taps.present).where(term, zero)
    return term


def ranges(begin: Any, end: Any) -> Taps:
    """Sums from `begin` to below `end`."""
    longest = int((end - begin).max(initial=0))
    offset = numpy.arange(max(longest, 1))[:, None]
    present = offset < end - begin
    return Taps(numpy.where(present, begin + offset, 0), None, present)
