"""Enters: Python data and arrays. Leaves: tensors: `tensor`, `as_tensor`, `from_numpy`.

Invariant: `from_numpy` shares memory, `tensor` never does.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.autograd.api import set_requires_grad
from thunk.runtime.storage import adopt
from thunk.runtime.tensors import new_tensor, tensor_from_array
from thunk.types.dtype import dtype as dtype_type


def from_numpy(array: numpy.ndarray) -> Any:
    """A tensor that shares the memory of `array`."""
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    storage, spec = adopt(array)
    return new_tensor(storage, spec)


def tensor(
    data: Any,
    *,
    dtype: dtype_type | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor with a copy of `data`."""
    array = numpy.asarray(data)
    if array.dtype == numpy.float64 and not isinstance(data, (numpy.ndarray, numpy.generic)):
        array = array.astype(numpy.float32)
    if dtype is not None:
        array = array.astype(dtype.numpy)
    result = tensor_from_array(array)
    if requires_grad:
        set_requires_grad(result, True)
    return result
