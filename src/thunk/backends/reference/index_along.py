"""NumPy rules of whole slices along one dimension."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.index_places import add_at, expect_inside, reduce_at
from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


def _along(array: Any, dim: int) -> Any:
    """`array` with dimension `dim` in front; a scalar becomes a vector."""
    return numpy.moveaxis(array, dim, 0) if array.ndim else array.reshape(1)


def _size(array: Any, dim: int) -> int:
    return int(array.shape[dim]) if array.ndim else 1


@rule("index_select")
def index_select(spec: TensorSpec, self: Any, dim: int, index: Any) -> Any:
    _expect_in_self("index_select", self, dim, index)
    if not self.ndim:
        return self
    return self.take(index.reshape(-1), dim)


def _expect_in_self(name: str, self: Any, dim: int, index: Any) -> None:
    size = _size(self, dim)
    if index.size and (index.min() < 0 or index.max() >= size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise IndexError(
            f"{name}: index out of range in self: expected 0 to {size - 1}, got {wrong}"
        )


@rule("index_add", half="float32")
def index_add(spec: TensorSpec, self: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    kind = RuntimeError if self.ndim > 1 else IndexError
    expect_inside("index_add", index, _size(self, dim), dim, kind)
    scaled = source if alpha == 1 else source * numpy.asarray(alpha).astype(source.dtype)
    result = numpy.array(self, order="C")
    add_at(result.reshape(-1), _numbers(self, dim, index), _along(scaled, dim))
    return result


def _numbers(self: Any, dim: int, index: Any) -> Any:
    """The row-major number of every element of the slices at `index`, `dim` in front."""
    numbers = numpy.arange(self.size).reshape(self.shape)
    return _along(numbers, dim)[index.reshape(-1)]


@rule("index_copy")
def index_copy(spec: TensorSpec, self: Any, dim: int, index: Any, source: Any) -> Any:
    expect_inside("index_copy_", index, _size(self, dim), dim, IndexError)
    result = numpy.array(self)
    _along(result, dim)[index.reshape(-1)] = _along(source, dim)
    return result


@rule("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(spec: TensorSpec, self: Any, dim: int, index: Any, value: Any) -> Any:
    size = _size(self, dim)
    expect_inside("index_fill_", index, size, dim, IndexError, lowest=-size)
    result = numpy.array(self)
    _along(result, dim)[index.reshape(-1)] = numpy.asarray(value).astype(result.dtype)
    return result


@rule("index_reduce", half="float32")
def index_reduce(
    spec: TensorSpec, self: Any, dim: int, index: Any, source: Any, reduce: str,
    include_self: bool,
) -> Any:  # fmt: skip
    _expect_in_self("index_reduce", self, dim, index)
    flat = numpy.array(self, order="C").reshape(-1)
    if not source.size:
        return flat.reshape(self.shape)
    values = numpy.ascontiguousarray(_along(source, dim))
    places = numpy.ascontiguousarray(_numbers(self, dim, index))
    return reduce_at(flat, places, values, reduce, include_self).reshape(self.shape)
