"""NumPy rules of gather and of everything that scatters."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.index_places import (
    add_at,
    expect_inside,
    places_along,
    reduce_at,
)
from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


def _as_vector(array: Any) -> Any:
    return array if array.ndim else array.reshape(1)


def _places(name: str, self: Any, dim: int, index: Any) -> Any:
    """Row-major numbers in `self` of the elements that `index` names, bounds checked."""
    array, index = _as_vector(self), _as_vector(index)
    place = dim % array.ndim
    expect_inside(name, index, array.shape[place], place, RuntimeError)
    return places_along(array.shape, place, index)


@rule("gather")
def gather(spec: TensorSpec, self: Any, dim: int, index: Any, sparse_grad: bool) -> Any:
    if not index.size:
        return numpy.empty(index.shape, self.dtype)
    return self.reshape(-1)[_places("gather", self, dim, index)].reshape(index.shape)


def _source(src: Any, index: Any) -> Any:
    """The part of `src` that `index` covers."""
    return src[tuple(slice(0, size) for size in index.shape)] if src.ndim else src


def _scattered(name: str, self: Any, dim: int, index: Any, values: Any, reduce: str) -> Any:
    result = numpy.array(self, order="C")
    if not index.size:
        return result
    places = _places(name, self, dim, index)
    flat = result.reshape(-1)
    wide = numpy.broadcast_to(values.reshape(values.shape or (1,)), places.shape)
    if reduce == "set":
        flat[places.reshape(-1)] = wide.reshape(-1)
    elif reduce in ("add", "sum"):
        add_at(flat, places, wide)
    else:
        numpy.multiply.at(flat, places.reshape(-1), wide.astype(flat.dtype).reshape(-1))
    return result


@rule("scatter.src")
def scatter_src(spec: TensorSpec, self: Any, dim: int, index: Any, src: Any) -> Any:
    return _scattered("scatter", self, dim, index, _source(src, index), "set")


@rule("scatter.value")
def scatter_value(spec: TensorSpec, self: Any, dim: int, index: Any, value: Any) -> Any:
    number = numpy.asarray(value).astype(self.dtype)
    return _scattered("scatter", self, dim, index, number, "set")


@rule("scatter.reduce", half="float32")
def scatter_reduced(
    spec: TensorSpec, self: Any, dim: int, index: Any, src: Any, reduce: str
) -> Any:
    return _scattered("scatter", self, dim, index, _source(src, index), reduce)


@rule("scatter.value_reduce", half="float32")
def scatter_value_reduced(
    spec: TensorSpec, self: Any, dim: int, index: Any, value: Any, reduce: str
) -> Any:
    number = numpy.asarray(value).astype(self.dtype)
    return _scattered("scatter", self, dim, index, number, reduce)


@rule("scatter_add", half="float32")
def scatter_add(spec: TensorSpec, self: Any, dim: int, index: Any, src: Any) -> Any:
    return _scattered("scatter_add", self, dim, index, _source(src, index), "add")


@rule("scatter_reduce.two", half="float32")
def scatter_reduce(
    spec: TensorSpec, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool
) -> Any:
    result = numpy.array(self, order="C")
    if not index.size:
        return result
    places = numpy.ascontiguousarray(_places("scatter_reduce", self, dim, index))
    values = numpy.ascontiguousarray(_source(src, index))
    reduced = reduce_at(result.reshape(-1), places, values, reduce, include_self)
    return reduced.reshape(self.shape)
