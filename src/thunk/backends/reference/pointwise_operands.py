"""Enters: arrays and Python numbers as an operator got them. Leaves: operands to compute with.

Invariant: operands are rounded to the dtype PyTorch computes in, then half precision is widened to
float32, so that a result is rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import convert
from thunk.types.dtype import dtype, float32, from_numpy_dtype
from thunk.types.promotion import result_type
from thunk.types.spec import TensorSpec


def working_dtype(element: dtype) -> numpy.dtype:
    """The NumPy dtype to compute in for results of `element`."""
    half = element.is_floating_point and element.itemsize < 4
    return float32.numpy if half else element.numpy


def operand(value: Any, element: dtype) -> Any:
    """`value` rounded to `element`, in its working dtype."""
    array = numpy.asarray(value)
    if array.dtype != element.numpy:
        array = convert(array, element.numpy)
    return array.astype(working_dtype(element), copy=False)


def scalar_operand(value: Any, element: dtype) -> Any:
    """As `operand`, but a lone number keeps the working dtype's precision, as PyTorch's does in
    arithmetic of half precision."""
    array = numpy.asarray(value)
    if array.ndim == 0:
        return convert(array, working_dtype(element))
    return operand(array, element)


def common_dtype(*values: Any) -> dtype:
    """The dtype that arrays and numbers promote to."""
    return result_type(
        [
            TensorSpec(value.shape, from_numpy_dtype(value.dtype), ())
            if isinstance(value, numpy.ndarray)
            else value
            for value in values
        ]
    )


def promoted(*values: Any) -> list[Any]:
    """All values as operands of their common dtype."""
    element = common_dtype(*values)
    return [operand(value, element) for value in values]


def is_complex(array: Any) -> bool:
    """Whether an array holds complex numbers."""
    return bool(array.dtype.kind == "c")


def is_float(array: Any) -> bool:
    """Whether an array holds real floating point numbers (NumPy's kind of bfloat16 is V)."""
    return array.dtype.kind in "fV"
