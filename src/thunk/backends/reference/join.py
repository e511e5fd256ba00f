"""NumPy rules of operators that join tensors."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.casting import cast_array
from thunk.types.spec import TensorSpec


@rule("cat")
def cat(spec: TensorSpec, tensors: Any, dim: int) -> Any:
    result = numpy.empty(spec.shape, spec.dtype.numpy)
    place = dim % result.ndim
    start = 0
    for array in tensors:
        if array.shape == (0,):
            continue
        end = start + array.shape[place]
        part = array if array.dtype == result.dtype else cast_array(array, spec.dtype)
        result[(slice(None),) * place + (slice(start, end),)] = part
        start = end
    return result
