"""Checks that several samplers share: arguments enter, an exception or checked values leave.

Invariant: exceptions have PyTorch's types, and nothing is drawn before a check has passed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from thunk.runtime.random.rounding import BFLOAT16, is_reduced

Shape = Sequence[int]

_INTEGERS = tuple(np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8"))
_WIDE_UNSIGNED = tuple(np.dtype(name) for name in ("uint16", "uint32", "uint64"))
_REALS = (BFLOAT16, *(np.dtype(name) for name in ("float16", "float32", "float64")))
_BOOLS = (np.dtype(np.bool_),)

SINGLE_OR_DOUBLE = frozenset(_REALS[-2:])
REAL = frozenset(_REALS)
INTEGER_OR_REAL = frozenset(_INTEGERS + _REALS)
BOOL_INTEGER_OR_REAL = frozenset(_BOOLS + _INTEGERS + _REALS)
ANY_BUT_COMPLEX = frozenset(_BOOLS + _INTEGERS + _WIDE_UNSIGNED + _REALS)

_finfo: Any = ml_dtypes.finfo  # untyped; unlike NumPy's, it knows bfloat16
_INFO = {dtype: _finfo(dtype) for dtype in _REALS}
# Digits of the significand, the hidden one included.
_SIGNIFICAND = {dtype: int(info.nmant) + 1 for dtype, info in _INFO.items()}
_LARGEST = {dtype: float(info.max) for dtype, info in _INFO.items()}
_SMALLEST = {dtype: float(info.smallest_normal) for dtype, info in _INFO.items()}


def count_of(shape: Shape) -> int:
    """The number of elements of a shape."""
    return math.prod(shape)


def significand_digits(dtype: np.dtype[Any]) -> int:
    """How many binary digits a floating-point type holds."""
    return _SIGNIFICAND[dtype]


def largest_finite(dtype: np.dtype[Any]) -> float:
    """The largest finite number of a floating-point type."""
    return _LARGEST[dtype]


def smallest_normal(dtype: np.dtype[Any]) -> float:
    """The smallest positive normal number of a floating-point type."""
    return _SMALLEST[dtype]


def working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that PyTorch computes in: 16-bit floats are computed in float32."""
    return np.dtype(np.float32) if is_reduced(dtype) else dtype


def checked_dtype(
    op: str, dtype: npt.DTypeLike, supported: frozenset[np.dtype[Any]], count: int
) -> np.dtype[Any]:
    """The dtype itself, if `op` is implemented for it or has nothing to sample."""
    given = np.dtype(dtype)
    if count > 0 and given not in supported:
        names = ", ".join(sorted(supported_dtype.name for supported_dtype in supported))
        raise NotImplementedError(
            f"{op}: expected one of the dtypes {names}, got {given.name}; "
            "sample in one of these and convert"
        )
    return given


def bad_argument(op: str, expected: str, got: object, fix: str) -> RuntimeError:
    """PyTorch's exception for a bad argument, worded as this project does."""
    return RuntimeError(f"{op}: expected {expected}, got {got}; {fix}")
