"""NumPy rules of elements chosen by truth."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.casting import cast_array
from thunk.types.spec import TensorSpec


@rule("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(spec: TensorSpec, self: Any, mask: Any, value: Any) -> Any:
    filling = cast_array(numpy.asarray(value), spec.dtype)
    return numpy.where(mask, filling, self)


@rule("masked_select")
def masked_select(spec: Any, self: Any, mask: Any) -> Any:
    array, chosen = numpy.broadcast_arrays(self, mask != 0)
    return array[chosen]


@rule("masked_scatter")
def masked_scatter(spec: TensorSpec, self: Any, mask: Any, source: Any) -> Any:
    result = numpy.array(numpy.broadcast_to(self, spec.shape))
    chosen = numpy.broadcast_to(mask, spec.shape)
    count = int(chosen.sum())
    if source.size < count:
        raise RuntimeError(
            f"masked_scatter: expected at least {count} elements in source, got {source.size}: "
            "number of elements of source < number of ones in mask"
        )
    result[chosen] = source.reshape(-1)[:count]
    return result


@rule("masked_scatter_backward")
def masked_scatter_backward(spec: TensorSpec, grad_output: Any, mask: Any, sizes: Any) -> Any:
    result = numpy.zeros(spec.numel, grad_output.dtype)
    chosen = grad_output[numpy.broadcast_to(mask, grad_output.shape)]
    result[: chosen.size] = chosen
    return result.reshape(spec.shape)


@rule("where.self")
def where(spec: TensorSpec, condition: Any, self: Any, other: Any) -> Any:
    first, second = (cast_array(numpy.asarray(each), spec.dtype) for each in (self, other))
    return numpy.where(condition != 0, first, second)


@rule("_nonzero_columns")
def nonzero_columns(spec: Any, self: Any) -> Any:
    if not self.ndim:
        return numpy.zeros((0, int(self != 0)), numpy.int64)
    return numpy.stack(numpy.nonzero(self != 0)).astype(numpy.int64, copy=False)


@rule("nonzero_static")
def nonzero_static(spec: TensorSpec, self: Any, size: int, fill_value: int) -> Any:
    result = numpy.full(spec.shape, fill_value, numpy.int64)
    rows = nonzero_columns(None, self).T[:size]
    result[: len(rows)] = rows
    return result
