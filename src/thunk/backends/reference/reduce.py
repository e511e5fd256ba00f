"""NumPy rules of sums, products and truth.

Invariant: sums are pairwise whatever the layout, so their error grows with the logarithm of the
number of terms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from thunk.backends.reference.kernel import convert, rule
from thunk.types.spec import TensorSpec

# Below this, adding in sequence is as good as pairwise.
_SHORT = 64


def axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """NumPy axes for PyTorch's `dim` (None or () means all)."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims = (dim,) if isinstance(dim, int) else dim
    return tuple(each % ndim for each in dims if ndim)


def reduced_last(array: Any, over: tuple[int, ...]) -> Any:
    """`array` as (kept dimensions..., all reduced elements): the last axis is contiguous."""
    kept = [axis for axis in range(array.ndim) if axis not in over]
    moved = array.transpose([*kept, *over])
    count = math.prod(array.shape[axis] for axis in over)
    return numpy.ascontiguousarray(moved.reshape([array.shape[axis] for axis in kept] + [count]))


def with_ones(array: Any, over: tuple[int, ...], keepdim: bool) -> Any:
    """A reduced array with its dimensions back as ones, if they are to be kept."""
    return numpy.expand_dims(array, sorted(over)) if keepdim and over else array


def pairwise_sum(array: Any, over: tuple[int, ...], keepdim: bool) -> Any:
    """The sum over axes; NumPy adds pairwise only along a contiguous last axis."""
    count = math.prod(array.shape[axis] for axis in over)
    if count <= _SHORT or array.dtype.kind not in "fc" or not array.size:
        return array.sum(over, keepdims=keepdim)
    return with_ones(reduced_last(array, over).sum(-1), over, keepdim)


def _accumulator(self: Any, spec: TensorSpec) -> Any:
    """The operand in the dtype that the terms are added in."""
    target = spec.dtype.numpy
    if target.itemsize == 2 and spec.dtype.is_floating_point:
        target = numpy.dtype(numpy.float32)
    return self if self.dtype == target else convert(self, target)


@rule("sum.dim_IntList", half="float32")
def sum_dims(spec: TensorSpec, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    return pairwise_sum(_accumulator(self, spec), axes(dim, self.ndim), keepdim)


@rule("sum", half="float32")
def sum_all(spec: TensorSpec, self: Any, dtype: Any) -> Any:
    return sum_dims(spec, self, None, False, dtype)


@rule("nansum", half="float32")
def nansum(spec: TensorSpec, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    present = numpy.where(numpy.isnan(self), self.dtype.type(0), self)
    return sum_dims(spec, present, dim, keepdim, dtype)


@rule("mean.dim", half="float32")
def mean_dims(spec: TensorSpec, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    over = axes(dim, self.ndim)
    total = numpy.asarray(pairwise_sum(_accumulator(self, spec), over, keepdim))
    return total / total.dtype.type(math.prod(self.shape[axis] for axis in over))


@rule("mean", half="float32")
def mean_all(spec: TensorSpec, self: Any, dtype: Any) -> Any:
    return mean_dims(spec, self, None, False, dtype)


@rule("prod.dim_int", half="float32")
def prod_dim(spec: TensorSpec, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    return _accumulator(self, spec).prod(axes(dim, self.ndim), keepdims=keepdim)


@rule("prod", half="float32")
def prod_all(spec: TensorSpec, self: Any, dtype: Any) -> Any:
    return _accumulator(self, spec).prod()


@rule("any.dims")
def any_dims(spec: TensorSpec, self: Any, dim: Any, keepdim: bool) -> Any:
    over = () if dim == () else axes(dim, self.ndim)
    return numpy.any(self != 0, axis=over, keepdims=keepdim)


@rule("all.dims")
def all_dims(spec: TensorSpec, self: Any, dim: Any, keepdim: bool) -> Any:
    over = () if dim == () else axes(dim, self.ndim)
    return numpy.all(self != 0, axis=over, keepdims=keepdim)
