"""Enters: planes and where windows begin and end along each dimension. Leaves: their sums, maxima.

Invariant: elements outside every window are never touched, so NaN and infinities stay in theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from thunk.backends.reference.taps import Taps

_MOST_ELEMENTS = 1 << 24  # of one chunk's windows


def range_sum(values: Any, axis: int, begin: Any, end: Any) -> Any:
    """Sums of `values[begin[i]:end[i]]` along one axis; both bounds rise, ranges may be empty."""
    longest = int((end - begin).max(initial=0))
    index = begin + numpy.arange(longest)[:, None]
    return Taps(index, present=index < end).applied(values, axis)


def transposed_ranges(begin: Any, end: Any, size: int) -> tuple[Any, Any]:
    """For each of `size` elements, the range of windows that cover it."""
    places = numpy.arange(size)
    return (
        numpy.searchsorted(end, places, side="right"),
        numpy.searchsorted(begin, places, side="right"),
    )


def flat_windows(places: Sequence[Any], size: Sequence[int]) -> Any:
    """Flat indices into planes of `size` of every window's elements, (windows, elements).

    `places[d]` holds, for each window along dimension d, the indices of its elements; a leading
    dimension that they share stays in front.
    """
    dims = len(size)
    lead = places[0].shape[:-2]
    total: Any = numpy.zeros((), numpy.int64)
    for d, index in enumerate(places):
        shape = [1] * (2 * dims)
        shape[d], shape[dims + d] = index.shape[-2:]
        total = total * size[d] + index.reshape(*lead, *shape)
    windows = math.prod(each.shape[-2] for each in places)
    elements = math.prod(each.shape[-1] for each in places)
    return total.reshape(*lead, windows, elements)


def largest_in_windows(pictures: Any, places: Sequence[Any]) -> tuple[Any, Any]:
    """The largest element of each window of each plane and its flat index, (planes, windows).

    `places` may have a leading dimension with one entry a plane. The first of equals wins, and
    the last of several NaN.
    """
    dims = len(places)
    size = pictures.shape[-dims:]
    planes = pictures.reshape(math.prod(pictures.shape[:-dims]), math.prod(size))
    index = flat_windows(places, size)
    values = numpy.empty((len(planes), index.shape[-2]), planes.dtype)
    found = numpy.empty(values.shape, numpy.int64)
    if not values.size:
        return values, found
    step = max(_MOST_ELEMENTS // math.prod(index.shape[-2:]), 1)
    for start in range(0, len(planes), step):
        chunk = slice(start, start + step)
        rows = numpy.arange(len(planes))[chunk, None, None]
        own = index[chunk] if index.ndim == 3 else index[None]
        cells = planes[rows, own]
        best = _last_nan_or_first_largest(cells)[..., None]
        values[chunk] = numpy.take_along_axis(cells, best, 2)[..., 0]
        found[chunk] = numpy.take_along_axis(own, best, 2)[..., 0]
    return values, found


def _last_nan_or_first_largest(cells: Any) -> Any:
    best = cells.argmax(-1)
    if cells.dtype.kind != "f":
        return best
    is_nan = numpy.isnan(cells)
    rows = is_nan.any(-1)
    if rows.any():
        last = cells.shape[-1] - 1 - is_nan[..., ::-1].argmax(-1)
        best = numpy.where(rows, last, best)
    return best


def add_to_planes(values: Any, indices: Any, shape: Sequence[int], dims: int) -> Any:
    """Planes of `shape` whose elements are the sums of the `values` with their flat index."""
    planes, size = math.prod(shape[:-dims]), math.prod(shape[-dims:])
    width = math.prod(indices.shape[-dims:])
    rows = indices.reshape(planes, width) + numpy.arange(planes)[:, None] * size
    flat = numpy.bincount(rows.ravel(), values.ravel(), planes * size)
    return flat.reshape(shape)
