"""NumPy rules of indexing with tensors, and of elements by their row-major number."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.index_places import add_at, expect_inside
from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


def _subscript(shape: tuple[int, ...], indices: Any) -> tuple[Any, ...]:
    """NumPy's spelling of `indices`, bounds checked."""
    for dim, index in enumerate(indices):
        if index is not None:
            expect_inside("index", index, shape[dim], dim, IndexError, lowest=-shape[dim])
    return tuple(slice(None) if index is None else index for index in indices)


@rule("_index")
def index(spec: TensorSpec, self: Any, indices: Any) -> Any:
    if not spec.numel:
        return numpy.empty(spec.shape, self.dtype)  # places are not looked at, so not checked
    return self[_subscript(self.shape, indices)]


@rule("_index_put", half="float32")
def index_put(spec: TensorSpec, self: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    result = numpy.array(self, order="C")
    if not self.size or any(index is not None and not index.size for index in indices):
        return result
    chosen = _subscript(self.shape, indices)
    if not accumulate:
        result[chosen] = _without_leading_ones(values, result[chosen].ndim)
        return result
    places = numpy.arange(result.size).reshape(result.shape)[chosen]
    source = _without_leading_ones(values, places.ndim)
    add_at(result.reshape(-1), places, numpy.broadcast_to(source, places.shape))
    return result


def _without_leading_ones(values: Any, ndim: int) -> Any:
    lead = max(values.ndim - ndim, 0)
    return values.reshape(values.shape[lead:])


@rule("take")
def take(spec: TensorSpec, self: Any, index: Any) -> Any:
    _expect_elements("take", index, self.size)
    return self.reshape(-1)[index]


@rule("put", half="float32")
def put(spec: TensorSpec, self: Any, index: Any, source: Any, accumulate: bool) -> Any:
    _expect_elements("put_", index, self.size)
    result = numpy.array(self, order="C")
    flat = result.reshape(-1)
    if accumulate:
        add_at(flat, index % max(flat.size, 1), source)
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return result


def _expect_elements(name: str, index: Any, size: int) -> None:
    outside = index[(index < -size) | (index >= size)]
    if outside.size:
        raise IndexError(
            f"{name}: out of range: tried to access index {outside.flat[0]} on a tensor of {size} "
            "elements."
        )
