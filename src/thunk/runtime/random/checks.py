"""Checks that several samplers share: arguments enter, an exception or checked values leave.

Invariant: exceptions have PyTorch's types, and nothing is drawn before a check has passed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thunk.runtime.random.rounding import BFLOAT16, is_reduced

Shape = Sequence[int]

_INTEGERS = tuple(np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8"))
_WIDE_UNSIGNED = tuple(np.dtype(name) for name in ("uint16", "uint32", "uint64"))
_REALS = (BFLOAT16, *(np.dtype(name) for name in ("float16", "float32", "float64")))
_BOOLS = (np.dtype(np.bool_),)

REAL = frozenset(_REALS)
INTEGER_OR_REAL = frozenset(_INTEGERS + _REALS)
BOOL_INTEGER_OR_REAL = frozenset(_BOOLS + _INTEGERS + _REALS)
ANY_BUT_COMPLEX = frozenset(_BOOLS + _INTEGERS + _WIDE_UNSIGNED + _REALS)

# Digits of the significand, the hidden one included.
_SIGNIFICAND = {
    np.dtype(np.float16): 11,
    BFLOAT16: 8,
    np.dtype(np.float32): 24,
    np.dtype(np.float64): 53,
}


def count_of(shape: Shape) -> int:
    """The number of elements of a shape."""
    return math.prod(shape)


def significand_digits(dtype: np.dtype[Any]) -> int:
    """How many binary digits a floating-point type holds."""
    return _SIGNIFICAND[dtype]


def largest_finite(dtype: np.dtype[Any]) -> float:
    """The largest finite number of a floating-point type."""
    if dtype == BFLOAT16:
        return (2.0 - 2.0**-7) * 2.0**127
    return float(np.finfo(dtype).max)


def smallest_normal(dtype: np.dtype[Any]) -> float:
    """The smallest positive normal number of a floating-point type."""
    if dtype == BFLOAT16:
        return 2.0**-126
    return float(np.finfo(dtype).smallest_normal)


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


def require(condition: bool, op: str, expected: str, got: str, fix: str) -> None:
    """Raise PyTorch's RuntimeError for a bad argument, worded as this project does."""
    if not condition:
        raise RuntimeError(f"{op}: expected {expected}, got {got}; {fix}")
