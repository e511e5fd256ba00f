"""NumPy rules of copies with a window replaced: the adjoints of views."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.lib.stride_tricks import as_strided

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


def _window(flat: Any, spec: TensorSpec) -> Any:
    itemsize = flat.dtype.itemsize
    strides = [stride * itemsize for stride in spec.strides]
    return as_strided(flat[spec.offset :], spec.shape, strides)


@rule("as_strided_scatter")
def as_strided_scatter(
    spec: TensorSpec, self: Any, src: Any, size: Any, stride: Any, storage_offset: Any
) -> Any:
    offset = spec.offset if storage_offset is None else storage_offset
    place = TensorSpec(tuple(size), spec.dtype, tuple(stride), offset)
    flat = numpy.zeros(max(spec.extent(), place.extent()), self.dtype)
    result = _window(flat, spec)
    result[...] = self
    _window(flat, place)[...] = src
    return result


def _index(ndim: int, dim: int, chosen: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * (dim % ndim), chosen)


@rule("select_scatter")
def select_scatter(spec: TensorSpec, self: Any, src: Any, dim: int, index: int) -> Any:
    result = numpy.array(self)
    result[_index(self.ndim, dim, index)] = src
    return result


@rule("slice_scatter")
def slice_scatter(
    spec: TensorSpec, self: Any, src: Any, dim: int, start: Any, end: Any, step: int
) -> Any:
    result = numpy.array(self)
    result[_index(self.ndim, dim, slice(start, end, step))] = src
    return result


@rule("diagonal_scatter")
def diagonal_scatter(
    spec: TensorSpec, self: Any, src: Any, offset: int, dim1: int, dim2: int
) -> Any:
    result = numpy.array(self)
    length = src.shape[-1]
    rows = numpy.arange(length) - min(offset, 0)
    columns = numpy.arange(length) + max(offset, 0)
    last = numpy.moveaxis(result, (dim1, dim2), (-2, -1))
    last[..., rows, columns] = src
    return result


@rule("unfold_backward", half="float32")
def unfold_backward(
    spec: TensorSpec, grad_in: Any, input_sizes: Any, dim: int, size: int, step: int
) -> Any:
    result = numpy.zeros(input_sizes, grad_in.dtype)
    if not result.ndim:
        return grad_in.sum(dtype=grad_in.dtype)
    along = numpy.moveaxis(result, dim, -1)
    windows = numpy.moveaxis(grad_in, dim % result.ndim, -2)
    count = windows.shape[-2]
    for place in range(size):
        along[..., place : place + count * step : step] += windows[..., place]
    return result
