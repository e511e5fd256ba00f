"""Fused multiply-add and C++ conversions: arrays enter, arrays with hardware's bits leave.

Invariant: a fused multiply-add rounds once, as the processor's instruction does, although NumPy has
none; a conversion rounds through the same intermediate types as PyTorch's.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

# Factors and addends in this range keep every step of the exact arithmetic below clear of
# overflow and underflow, given samples between 2**-64 and 2**64.
_SAFE_LOW, _SAFE_HIGH = 2.0**-800, 2.0**800
_SPLITTER = 2.0**27 + 1.0
_SMALLEST_NORMAL_SINGLE = 2.0**-126

# Elements handled at a time: their intermediate arrays stay in the processor's cache.
_CHUNK = 8192


def is_reduced(dtype: npt.DTypeLike) -> bool:
    """Whether a dtype is a floating-point type of 16 bits."""
    return np.dtype(dtype) in (np.dtype(np.float16), BFLOAT16)


def convert(values: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """C++'s cast of sampled numbers. A 16-bit float is reached by way of float32, as in PyTorch."""
    with np.errstate(all="ignore"):
        if is_reduced(dtype):
            values = values.astype(np.float32, copy=False)
        return values.astype(dtype, copy=False)


def fused_multiply_add_single(values: Float32Array, factor: float, addend: float) -> Float32Array:
    """values * factor + addend in float32, rounded once."""
    scale, offset = np.float32(factor), np.float32(addend)
    with np.errstate(all="ignore"):
        if scale == 1:
            return values + offset
        if offset == 0:
            return _add_to_zeros(values * scale, offset)
        result = np.empty_like(values)
        for start in range(0, values.size, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            result[chunk] = _fused_single(values[chunk], float(scale), float(offset))
    return result


def _fused_single(values: Float32Array, factor: float, addend: float) -> Float32Array:
    product = values.astype(np.float64)
    product *= factor  # exact
    total = product + addend
    # The second rounding, to float32, goes wrong only on a tie that the first one created. Ties are
    # rare, and lie elsewhere among the subnormal numbers.
    tie = (total.view(np.int64) & 0x1FFFFFFF) == 0x10000000
    tie |= np.abs(total) < _SMALLEST_NORMAL_SINGLE
    if tie.any():
        total[tie] = _sum_to_odd(product[tie], np.float64(addend))
    return total.astype(np.float32)


def fused_multiply_add_double(values: Float64Array, factor: float, addend: float) -> Float64Array:
    """values * factor + addend in float64, rounded once, for finite values."""
    with np.errstate(all="ignore"):
        if factor == 1:
            return values + addend
        if addend == 0:
            return _add_to_zeros(values * factor, addend)
        if factor == 0 or not (math.isfinite(factor) and math.isfinite(addend)):
            return values * factor + addend
        if not (_SAFE_LOW < abs(factor) < _SAFE_HIGH and _SAFE_LOW < abs(addend) < _SAFE_HIGH):
            return _fused_by_fractions(values, factor, addend)
        # Boldo and Melquiond, "Emulation of FMA and correctly rounded sums".
        product, product_error = _exact_product(values, factor)
        high, low = _exact_sum(product_error, np.float64(addend))
        total, total_error = _exact_sum(product, high)
        return total + _sum_to_odd(low, total_error)


def _add_to_zeros(values: npt.NDArray[Any], addend: Any) -> npt.NDArray[Any]:
    """Only a zero can change when a zero is added to it (-0 + 0 is +0)."""
    zeros = values == 0
    if zeros.any():
        values[zeros] += addend
    return values


def _exact_sum(left: Any, right: Any) -> tuple[Float64Array, Float64Array]:
    total = left + right
    shadow = total - left
    return total, (left - (total - shadow)) + (right - shadow)


def _exact_product(values: Float64Array, factor: float) -> tuple[Float64Array, Float64Array]:
    product = values * factor
    high, low = _split(values)
    factor_high, factor_low = _split(np.float64(factor))
    error = (high * factor_high - product) + high * factor_low + low * factor_high
    return product, error + low * factor_low


def _split(values: Any) -> tuple[Any, Any]:
    scaled = values * _SPLITTER
    high = scaled - (scaled - values)
    return high, values - high


def _sum_to_odd(left: Any, right: Any) -> Float64Array:
    """left + right truncated, with the last bit set if anything was cut off."""
    total, error = _exact_sum(left, right)
    bits = total.view(np.int64)
    # abs(NaN) > 0 is false: the error of an infinite sum is NaN, and such a sum stays as it is.
    inexact = (np.abs(error) > 0) & ((bits & 1) == 0)
    if inexact.any():
        away_from_zero = (error > 0) == (total > 0)
        bits[inexact] += np.where(away_from_zero[inexact], 1, -1)
    return total


def _fused_by_fractions(values: Float64Array, factor: float, addend: float) -> Float64Array:
    """Exact rationals, for the extremes of the exponent range: slow, and right everywhere."""
    scale, offset = Fraction(factor), Fraction(addend)
    result = values * factor + addend
    flat = result.reshape(-1)
    for index, value in enumerate(values.ravel().tolist()):
        if math.isfinite(value):
            exact = Fraction(value) * scale + offset
            try:
                flat[index] = float(exact)
            except OverflowError:
                flat[index] = math.inf if exact > 0 else -math.inf
    return result
