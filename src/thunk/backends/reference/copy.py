"""NumPy rules of clones, casts, fills and writes through windows."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import convert, rule
from thunk.types.spec import TensorSpec


@rule("clone", "relayout")
def clone(spec: TensorSpec, self: Any, *rest: Any) -> Any:
    return self


@rule("cast")
def cast(spec: TensorSpec, self: Any, *rest: Any) -> Any:
    return convert(self, spec.dtype.numpy)


@rule("copy")
def copy(spec: TensorSpec, self: Any, src: Any, non_blocking: Any) -> Any:
    lead = max(src.ndim - len(spec.shape), 0)
    return numpy.broadcast_to(convert(src, spec.dtype.numpy).reshape(src.shape[lead:]), spec.shape)


@rule("fill.Scalar")
def fill_scalar(spec: TensorSpec, self: Any, value: Any) -> Any:
    return numpy.full(spec.shape, value).astype(spec.dtype.numpy)


@rule("fill.Tensor")
def fill_tensor(spec: TensorSpec, self: Any, value: Any) -> Any:
    return numpy.broadcast_to(convert(value, spec.dtype.numpy), spec.shape)


@rule("zero")
def zero(spec: TensorSpec, self: Any) -> Any:
    return numpy.zeros(spec.shape, spec.dtype.numpy)


@rule("full_like")
def full_like(spec: TensorSpec, self: Any, fill_value: Any, *rest: Any) -> Any:
    return numpy.full(spec.shape, fill_value).astype(spec.dtype.numpy)


@rule("as_strided_scatter")
def as_strided_scatter(
    spec: TensorSpec, self: Any, src: Any, size: Any, stride: Any, storage_offset: Any
) -> Any:
    result = numpy.empty(spec.shape, spec.dtype.numpy)
    if not spec.is_contiguous():
        raise RuntimeError("as_strided_scatter: expected a row-major tensor; call .contiguous()")
    result[...] = self
    flat = result.reshape(-1)[(storage_offset or 0) :]
    window = numpy.lib.stride_tricks.as_strided(
        flat, size, [each * spec.dtype.itemsize for each in stride]
    )
    window[...] = src
    return result


@rule("select_scatter")
def select_scatter(spec: TensorSpec, self: Any, src: Any, dim: int, index: int) -> Any:
    result = numpy.array(self)
    result[(slice(None),) * (dim % self.ndim) + (index,)] = src
    return result


@rule("slice_scatter")
def slice_scatter(
    spec: TensorSpec, self: Any, src: Any, dim: int, start: Any, end: Any, step: int
) -> Any:
    result = numpy.array(self)
    result[(slice(None),) * (dim % self.ndim) + (slice(start, end, step),)] = src
    return result
