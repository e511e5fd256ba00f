"""NumPy rules of the operators that make tensors."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


@rule("zeros")
def zeros(spec: TensorSpec, *rest: Any) -> Any:
    return numpy.zeros(spec.shape, spec.dtype.numpy)


@rule("ones")
def ones(spec: TensorSpec, *rest: Any) -> Any:
    return numpy.ones(spec.shape, spec.dtype.numpy)


@rule("empty.memory_format")
def empty(spec: TensorSpec, *rest: Any) -> Any:
    return numpy.empty(spec.shape, spec.dtype.numpy)


@rule("full")
def full(spec: TensorSpec, size: Any, fill_value: Any, *rest: Any) -> Any:
    return numpy.full(spec.shape, fill_value, spec.dtype.numpy)


@rule("arange")
def arange(spec: TensorSpec, end: Any, *rest: Any) -> Any:
    return arange_step(spec, 0, end, 1)


@rule("arange.start_step")
def arange_step(spec: TensorSpec, start: Any, end: Any, step: Any, *rest: Any) -> Any:
    places = numpy.arange(spec.shape[0])
    if spec.dtype.is_inexact:
        return (start + places.astype(numpy.float64) * step).astype(spec.dtype.numpy)
    return (start + places * step).astype(spec.dtype.numpy)
