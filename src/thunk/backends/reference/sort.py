"""NumPy rules of sorting, distinct values and search. NaN is larger than everything."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec

# From here on, the largest few are partitioned off before they are sorted.
_LONG = 4096


def _order(self: Any, dim: int, descending: bool) -> Any:
    """Indices that sort `self`; equals keep their order in either direction."""
    if not descending:
        return numpy.argsort(self, dim, kind="stable")
    backwards = numpy.argsort(numpy.flip(self, dim), dim, kind="stable")
    return self.shape[dim] - 1 - numpy.flip(backwards, dim)


@rule("sort.stable", half="float32")
def sort(specs: Any, self: Any, stable: bool | None, dim: int, descending: bool) -> Any:
    if not self.ndim:
        return self.copy(), numpy.zeros((), numpy.int64)
    order = _order(self, dim, descending)
    return numpy.take_along_axis(self, order, dim), order


def _few(self: Any, k: int, dim: int, largest: bool) -> Any:
    """The order of a few extreme elements, without sorting the others."""
    size = self.shape[dim]
    if largest:
        chosen = numpy.arange(size - k, size)
        apart = numpy.argpartition(self, size - k, dim)
    else:
        chosen = numpy.arange(k)
        apart = numpy.argpartition(self, k - 1, dim)
    indices = numpy.sort(numpy.take(apart, chosen, dim), dim)
    order = _order(numpy.take_along_axis(self, indices, dim), dim, largest)
    return numpy.take_along_axis(indices, order, dim)


@rule("topk", half="float32")
def topk(specs: Any, self: Any, k: int, dim: int, largest: bool, sorted: bool) -> Any:
    if not self.ndim:
        return self.copy(), numpy.zeros((), numpy.int64)
    size = self.shape[dim]
    if size < _LONG or 4 * k > size or not k:
        kept = numpy.take(_order(self, dim, largest), numpy.arange(k), dim)
    else:
        kept = _few(self, k, dim, largest)
    return numpy.take_along_axis(self, kept, dim), kept


def _is_new(ordered: Any) -> Any:
    """Where a row differs from the one before it; NaN differs from itself."""
    new = numpy.ones(len(ordered), bool)
    different = ordered[1:] != ordered[:-1]
    new[1:] = different.any(tuple(range(1, ordered.ndim)))
    return new


def _grouped(ordered: Any, flags: tuple[bool, bool]) -> tuple[Any, Any, Any]:
    """First rows of the runs, the run of each row, the runs' lengths; empty where not asked."""
    new = _is_new(ordered)
    return_inverse, return_counts = flags
    nothing = numpy.empty(0, numpy.int64)
    inverse = numpy.cumsum(new) - 1 if return_inverse else nothing
    starts = numpy.append(numpy.flatnonzero(new), len(ordered))
    return ordered[new], inverse, numpy.diff(starts) if return_counts else nothing


def _back(inverse: Any, order: Any) -> Any:
    """The inverse in the order that the elements had before sorting."""
    found = numpy.empty_like(inverse)
    if len(inverse):
        found[order] = inverse
    return found


@rule("_unique2")
def unique_flat(
    spec: None, self: Any, sorted: bool, return_inverse: bool, return_counts: bool
) -> Any:
    flat = self.reshape(-1)
    order = numpy.argsort(flat, kind="stable")
    values, inverse, counts = _grouped(flat[order], (return_inverse, return_counts))
    if return_inverse:
        inverse = _back(inverse, order).reshape(self.shape)
    return values, inverse, counts


@rule("_unique_consecutive")
def unique_runs(spec: None, self: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = _grouped(self.reshape(-1), (return_inverse, return_counts))
    return values, inverse.reshape(self.shape) if return_inverse else inverse, counts


def _as_rows(self: Any, dim: int) -> Any:
    moved = numpy.moveaxis(self, dim, 0)
    return moved, moved.reshape(len(moved), -1) if moved.size else moved


@rule("unique_dim")
def unique_slices(
    spec: None, self: Any, dim: int, sorted: bool, return_inverse: bool, return_counts: bool
) -> Any:
    moved, rows = _as_rows(self, dim)
    order = numpy.lexsort(rows.T[::-1]) if rows.size else numpy.arange(len(rows))
    values, inverse, counts = _grouped(moved[order], (return_inverse, return_counts))
    return numpy.moveaxis(values, 0, dim), _back(inverse, order), counts


@rule("unique_dim_consecutive")
def unique_slice_runs(
    spec: None, self: Any, dim: int, return_inverse: bool, return_counts: bool
) -> Any:
    moved, _ = _as_rows(self, dim)
    values, inverse, counts = _grouped(moved, (return_inverse, return_counts))
    return numpy.moveaxis(values, 0, dim), inverse, counts


@rule("searchsorted.Tensor", half="float32")
def searchsorted(
    spec: TensorSpec, sequence: Any, self: Any, out_int32: bool, right: bool, side: str | None,
    sorter: Any,
) -> Any:  # fmt: skip
    if sorter is not None:
        if sorter.size and not 0 <= sorter.min() <= sorter.max() < sorter.shape[-1]:
            raise RuntimeError("searchsorted: expected indices in sorter, got one out of range")
        sequence = numpy.take_along_axis(sequence, sorter, -1)
    common = numpy.result_type(sequence, self)
    sequence, values = sequence.astype(common), self.astype(common)
    after = right or side == "right"
    size = sequence.shape[-1]
    rows = sequence.reshape(-1)
    if sequence.ndim > 1:
        count = sequence.size // size if size else 0
        start = (numpy.arange(count) * size).reshape((*self.shape[:-1], 1))
    else:
        start = numpy.zeros((), numpy.int64)
    return _bisect(rows, values, start, size, after)


def _bisect(rows: Any, values: Any, start: Any, size: int, after: bool) -> Any:
    """Binary search for all values at once, by PyTorch's comparisons (which decide about NaN)."""
    low = numpy.zeros(values.shape, numpy.int64)
    high = numpy.full(values.shape, size, numpy.int64)
    for _ in range(size.bit_length()):
        open_ = low < high
        middle = (low + high) // 2
        found = rows[numpy.where(open_, start + middle, 0)]
        beyond = found > values if after else found >= values
        low = numpy.where(open_ & ~beyond, middle + 1, low)
        high = numpy.where(open_ & beyond, middle, high)
    return low


@rule("isin.Tensor_Tensor", half="float32")
def isin(
    spec: TensorSpec, elements: Any, test_elements: Any, assume_unique: bool, invert: bool
) -> Any:
    return numpy.isin(elements, test_elements, invert=invert)
