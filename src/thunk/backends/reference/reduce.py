"""NumPy rules of the reductions."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import convert, rule
from thunk.types.spec import TensorSpec


def axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """NumPy axes for PyTorch's `dim` (None or () means all)."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims = (dim,) if isinstance(dim, int) else dim
    return tuple(each % ndim for each in dims if ndim)


@rule("sum.dim_IntList", half="float32")
def sum_dims(spec: TensorSpec, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    wide = self if self.dtype == numpy.float32 else convert(self, spec.dtype.numpy)
    return wide.sum(axes(dim, self.ndim), keepdims=keepdim)


@rule("sum", half="float32")
def sum_all(spec: TensorSpec, self: Any, dtype: Any) -> Any:
    return sum_dims(spec, self, None, False, dtype)


@rule("any")
def any_all(spec: TensorSpec, self: Any) -> Any:
    return (self != 0).any()
