"""Enters: an array and a dtype. Leaves: a new array of that dtype with PyTorch's rounding.

Invariant: the 16-bit floats are reached through float32, so values are rounded twice as in PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from thunk.types.dtype import BOOL, FLOATING, dtype, from_numpy_dtype


def cast_array(array: NDArray[Any], element: dtype) -> NDArray[Any]:
    """A copy of `array` as `element`; a real `element` drops the imaginary part."""
    if element.category == BOOL:
        return array != 0 if array.dtype != element.numpy else array.copy(order="K")
    if array.dtype.kind == "c" and not element.is_complex:
        array = array.real
    with numpy.errstate(all="ignore"):
        if _rounds_twice(array.dtype, element):
            array = array.astype(numpy.float32, order="K")
        return array.astype(element.numpy, order="K")


def _rounds_twice(source: numpy.dtype[Any], element: dtype) -> bool:
    narrow = element.category == FLOATING and element.itemsize < 4
    return narrow and from_numpy_dtype(source).itemsize > 1 and source != element.numpy
