"""NumPy rules of clones, casts and fills."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.casting import cast_array
from thunk.types.spec import TensorSpec


@rule("clone", "relayout", "with_history")
def clone(spec: TensorSpec, self: Any, *rest: Any) -> Any:
    return self


@rule("_reshape_copy")
def reshape_copy(spec: TensorSpec, self: Any, size: Any) -> Any:
    return self.reshape(spec.shape)


@rule("_to_copy")
def to_copy(spec: TensorSpec, self: Any, *rest: Any) -> Any:
    return cast_array(self, spec.dtype)


@rule("copy")
def copy(spec: TensorSpec, self: Any, src: Any, non_blocking: Any) -> Any:
    return numpy.broadcast_to(cast_array(src, spec.dtype), spec.shape)


@rule("fill.Scalar", "full_like")
def fill_scalar(spec: TensorSpec, self: Any, value: Any, *rest: Any) -> Any:
    return numpy.broadcast_to(cast_array(numpy.asarray(value), spec.dtype), spec.shape)


@rule("fill.Tensor")
def fill_tensor(spec: TensorSpec, self: Any, value: Any) -> Any:
    return numpy.broadcast_to(cast_array(value, spec.dtype), spec.shape)


@rule("zero")
def zero(spec: TensorSpec, self: Any) -> Any:
    return numpy.zeros(spec.shape, spec.dtype.numpy)
