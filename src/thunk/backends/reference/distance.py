"""NumPy rules of distances between all vectors of sets.

Invariant: differences are formed, never expanded into products, so near vectors lose no digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec

# Elements of a table of differences that are held at once.
_AT_ONCE = 1 << 22


def _norms(differences: Any, p: float) -> Any:
    """The p-norms of vectors along the last axis."""
    size = numpy.abs(differences)
    if p == 0:
        return (size != 0).sum(-1).astype(size.dtype)
    if p == 1:
        return size.sum(-1)
    if p == 2:
        return numpy.sqrt(numpy.square(size).sum(-1))
    if numpy.isinf(p):
        return size.max(-1, initial=0)
    return numpy.power(numpy.power(size, p).sum(-1), 1 / p)


def _slopes(differences: Any, norms: Any, p: float) -> Any:
    """The derivative of each norm by its vector; zero where the norm is zero."""
    norms = norms[..., None]
    size = numpy.abs(differences)
    if p == 0:
        return numpy.zeros_like(differences)
    if p == 1:
        return numpy.sign(differences)
    if numpy.isinf(p):
        return numpy.sign(differences) * (size == norms)
    if p == 2:
        found = differences / norms
    else:
        found = numpy.sign(differences) * numpy.power(size / norms, p - 1)
    gone = (norms == 0) | ((size == 0) & (p < 1))
    return numpy.where(gone, differences.dtype.type(0), found)


def _broadcast_batches(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Both sets as (batch, vectors, features) over their common leading dimensions."""
    lead = numpy.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    batch = int(numpy.prod(lead))
    found = [
        numpy.broadcast_to(each, (*lead, *each.shape[-2:])).reshape(batch, *each.shape[-2:])
        for each in (x1, x2)
    ]
    return found[0], found[1]


def _tables(x1: Any, x2: Any) -> Iterator[tuple[int, slice, Any]]:
    """Batch, rows of `x1`, and the differences of those rows from all vectors of `x2`."""
    step = max(1, _AT_ONCE // max(x2.shape[1] * x2.shape[2], 1))
    for batch in range(x1.shape[0]):
        for start in range(0, x1.shape[1], step):
            rows = slice(start, start + step)
            yield batch, rows, x1[batch, rows, None, :] - x2[batch, None, :, :]


@rule("_cdist_forward", half="float32")
def cdist(spec: TensorSpec, x1: Any, x2: Any, p: float, compute_mode: Any) -> Any:
    left, right = _broadcast_batches(x1, x2)
    found = numpy.empty((left.shape[0], left.shape[1], right.shape[1]), x1.dtype)
    for batch, rows, table in _tables(left, right):
        found[batch, rows] = _norms(table, p)
    return found.reshape(spec.shape)


@rule("_cdist_backward", half="float32")
def cdist_backward(
    spec: TensorSpec, grad: Any, x1: Any, x2: Any, p: float, cdist: Any
) -> Any:
    left, right = _broadcast_batches(x1, x2)
    shape = (left.shape[0], left.shape[1], right.shape[1])
    grads, norms = grad.reshape(shape), cdist.reshape(shape)
    found = numpy.zeros(left.shape, x1.dtype)
    for batch, rows, table in _tables(left, right):
        slopes = _slopes(table, norms[batch, rows], p)
        found[batch, rows] = (grads[batch, rows, :, None] * slopes).sum(1)
    return found.reshape(spec.shape)


@rule("_pdist_forward", half="float32")
def pdist(spec: TensorSpec, self: Any, p: float) -> Any:
    first, second = numpy.triu_indices(len(self), 1)
    return _norms(self[first] - self[second], p)


@rule("_pdist_backward", half="float32")
def pdist_backward(spec: TensorSpec, grad: Any, self: Any, p: float, pdist: Any) -> Any:
    first, second = numpy.triu_indices(len(self), 1)
    moved = grad[:, None] * _slopes(self[first] - self[second], pdist, p)
    found = numpy.zeros(self.shape, self.dtype)
    numpy.add.at(found, first, moved)
    numpy.subtract.at(found, second, moved)
    return found
