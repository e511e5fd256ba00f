"""NumPy rules of medians, ranks and modes. NaN sorts last; ties keep their order."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.reduce_extremes import empty
from thunk.types.spec import TensorSpec


def _rows(self: Any, dim: int) -> Any:
    """`self` as (other dimensions..., dim), a 0-dim array as a row of one."""
    return numpy.moveaxis(self, dim, -1) if self.ndim else self.reshape(1)


def _picked(specs: Any, rows: Any, where: Any, dim: int, keepdim: bool, ndim: int) -> Any:
    """Values and indices of one element a row, in the shape asked for."""
    values = numpy.take_along_axis(rows, where[..., None], -1)[..., 0]
    if keepdim and ndim:
        values, where = numpy.expand_dims(values, dim), numpy.expand_dims(where, dim)
    return values.reshape(specs[0].shape), where.reshape(specs[1].shape)


def _at_rank(rows: Any, rank: Any) -> Any:
    """The index of the element of that rank in each row."""
    order = numpy.argsort(rows, -1, kind="stable")
    ranks = numpy.broadcast_to(numpy.asarray(rank, numpy.int64), rows.shape[:-1])
    return numpy.take_along_axis(order, ranks[..., None], -1)[..., 0]


def _median_index(rows: Any, ignore_nan: bool) -> Any:
    size = rows.shape[-1]
    if rows.dtype.kind != "f":
        return _at_rank(rows, (size - 1) // 2)
    missing = numpy.isnan(rows)
    if ignore_nan:
        present = size - missing.sum(-1)
        return _at_rank(rows, numpy.maximum(present - 1, 0) // 2)
    middle = _at_rank(rows, (size - 1) // 2)
    return numpy.where(missing.any(-1), missing.argmax(-1), middle)


def _median_dim(specs: Any, self: Any, dim: int, keepdim: bool, ignore_nan: bool) -> Any:
    if not specs[0].numel:
        return empty(specs[0]), empty(specs[1])
    rows = _rows(self, dim)
    return _picked(specs, rows, _median_index(rows, ignore_nan), dim, keepdim, self.ndim)


def _median_all(spec: TensorSpec, self: Any, ignore_nan: bool) -> Any:
    flat = self.reshape(1, -1)
    if not flat.size:
        if spec.dtype.is_floating_point:
            return numpy.full((), numpy.nan, spec.dtype.numpy)
        # What C makes of a NaN cast to an integer.
        return numpy.array(numpy.iinfo(numpy.int64).min).astype(spec.dtype.numpy)
    return flat[0, _median_index(flat, ignore_nan)[0]]


@rule("median", half="float32")
def median(spec: TensorSpec, self: Any) -> Any:
    return _median_all(spec, self, False)


@rule("nanmedian", half="float32")
def nanmedian(spec: TensorSpec, self: Any) -> Any:
    return _median_all(spec, self, True)


@rule("median.dim", half="float32")
def median_dim(specs: Any, self: Any, dim: int, keepdim: bool) -> Any:
    return _median_dim(specs, self, dim, keepdim, False)


@rule("nanmedian.dim", half="float32")
def nanmedian_dim(specs: Any, self: Any, dim: int, keepdim: bool) -> Any:
    return _median_dim(specs, self, dim, keepdim, True)


@rule("kthvalue", half="float32")
def kthvalue(specs: Any, self: Any, k: int, dim: int, keepdim: bool) -> Any:
    if not specs[0].numel:
        return empty(specs[0]), empty(specs[1])
    rows = _rows(self, dim)
    return _picked(specs, rows, _at_rank(rows, k - 1), dim, keepdim, self.ndim)


@rule("mode", half="float32")
def mode(specs: Any, self: Any, dim: int, keepdim: bool) -> Any:
    if not specs[0].numel:
        return empty(specs[0]), empty(specs[1])
    rows = _rows(self, dim)
    order = numpy.argsort(rows, -1, kind="stable")
    ordered = numpy.take_along_axis(rows, order, -1)
    positions = numpy.arange(ordered.shape[-1])
    starts = numpy.ones(ordered.shape, bool)
    starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    run_start = numpy.maximum.accumulate(numpy.where(starts, positions, 0), -1)
    # The run that grows longest first belongs to the smallest of the most frequent values.
    last = (positions - run_start).argmax(-1)
    where = numpy.take_along_axis(order, last[..., None], -1)[..., 0]
    return _picked(specs, rows, where, dim, keepdim, self.ndim)
