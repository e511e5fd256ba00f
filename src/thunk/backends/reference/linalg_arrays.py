"""Batches of matrices: taking batch dimensions together, and substitution by triangles.

Enters: arrays whose last two dimensions are matrices. Leaves: fresh arrays.
Invariant: no loop runs over the batch; loops run over the columns of one matrix, in blocks, so
most of the work is done by matrix products.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from thunk.base.errors import LinAlgError

BLOCK = 32


def stacked(array: Any) -> Any:
    """A copy of `array` as one batch of matrices (count, rows, columns)."""
    rows, columns = array.shape[-2:]
    return numpy.array(array).reshape(math.prod(array.shape[:-2]), rows, columns)


def adjoint(array: Any) -> Any:
    """The conjugated transposes."""
    return numpy.conj(numpy.swapaxes(array, -1, -2))


def substitute(a: Any, b: Any, *, upper: bool, unit: bool = False) -> Any:
    """The solution of AX = B with one triangle of A, batches broadcast."""
    batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = numpy.broadcast_to(a, (*batch, *a.shape[-2:]))
    x = numpy.array(numpy.broadcast_to(b, (*batch, *b.shape[-2:])))
    size = a.shape[-1]
    starts = range(0, size, BLOCK)
    for start in reversed(starts) if upper else starts:
        stop = min(start + BLOCK, size)
        done = slice(stop, size) if upper else slice(0, start)
        if done.stop > done.start:
            x[..., start:stop, :] -= a[..., start:stop, done] @ x[..., done, :]
        rows = range(start, stop)
        for row in reversed(rows) if upper else rows:
            near = slice(row + 1, stop) if upper else slice(start, row)
            if near.stop > near.start:
                x[..., row, :] -= (a[..., row : row + 1, near] @ x[..., near, :])[..., 0, :]
            if not unit:
                x[..., row, :] /= a[..., row, row, None]
    return x


def raise_first(info: Any, message: str) -> None:
    """Raise for the first matrix whose `info` is positive; `message` takes its number."""
    failed = numpy.flatnonzero(numpy.ravel(info) > 0)
    if not failed.size:
        return
    place = f"(Batch element {failed[0]}): " if numpy.ndim(info) else ""
    number = int(numpy.ravel(info)[failed[0]])
    raise LinAlgError(message.format(place=place, number=number))
