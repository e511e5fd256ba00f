"""The Box-Muller transform in float32: pairs of uniform numbers enter, pairs of normals leave.

Invariant: the bits are those of PyTorch's AVX2 kernel, which its AVX512 mode uses as well: Cephes'
single-precision logarithm, sine and cosine, evaluated with fused multiply-adds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thunk.runtime.random.rounding import Float32Array, Float64Array

Int32Array = npt.NDArray[np.int32]

# Pairs handled at a time: their intermediate arrays stay in the processor's cache.
_CHUNK = 8192

_SINGLE = np.float32

_SQRT_HALF = _SINGLE(0.707106781186547524)
_LOG_COEFFICIENTS = (
    _SINGLE(7.0376836292e-2),
    _SINGLE(-1.1514610310e-1),
    _SINGLE(1.1676998740e-1),
    _SINGLE(-1.2420140846e-1),
    _SINGLE(1.4249322787e-1),
    _SINGLE(-1.6668057665e-1),
    _SINGLE(2.0000714765e-1),
    _SINGLE(-2.4999993993e-1),
    _SINGLE(3.3333331174e-1),
)
# log(2) in two parts: the high part times an exponent is exact.
_LOG_TWO_LOW = _SINGLE(-2.12194440e-4)
_LOG_TWO_HIGH = _SINGLE(0.693359375)

_TWO_PI = _SINGLE(6.283185307179586)
_FOUR_OVER_PI = _SINGLE(1.27323954473516)
# pi / 4 in three parts, negated.
_MINUS_QUARTER_PI = (
    _SINGLE(-0.78515625),
    _SINGLE(-2.4187564849853515625e-4),
    _SINGLE(-3.77489497744594108e-8),
)
_COSINE_COEFFICIENTS = (
    _SINGLE(2.443315711809948e-005),
    _SINGLE(-1.388731625493765e-003),
    _SINGLE(4.166664568298827e-002),
)
_SINE_COEFFICIENTS = (
    _SINGLE(-1.9515295891e-4),
    _SINGLE(8.3321608736e-3),
    _SINGLE(-1.6666654611e-1),
)
_HALF = _SINGLE(0.5)
_ONE = _SINGLE(1.0)


def transform_pairs(first: Float32Array, second: Float32Array) -> tuple[Float32Array, Float32Array]:
    """Standard normals from two equally long vectors of multiples of 2**-24 in [0, 1)."""
    cosines, sines = np.empty_like(first), np.empty_like(first)
    for start in range(0, first.size, _CHUNK):
        chunk = slice(start, start + _CHUNK)
        radius = np.sqrt(_SINGLE(-2.0) * _log(_ONE - first[chunk]))
        sine, cosine = _sine_and_cosine(_TWO_PI * second[chunk])
        np.multiply(radius, cosine, out=cosines[chunk])
        np.multiply(radius, sine, out=sines[chunk])
    return cosines, sines


def _fused(left: Float64Array, right: Float64Array | float, addend: Any) -> Float32Array:
    """A fused multiply-add of float32 values that are held in float64.

    The product is exact. The sum is rounded to float64 and then to float32; for each of the 2**24
    possible arguments of the functions below that gives the same bits as rounding once, which
    tests/unit/runtime/test_random_arithmetic.py proves by enumeration.
    """
    product = left * right
    product += addend
    return product.astype(np.float32)


def _polynomial(variable: Float64Array, coefficients: tuple[np.float32, ...]) -> Float32Array:
    result = _fused(variable, float(coefficients[0]), float(coefficients[1]))
    for coefficient in coefficients[2:]:
        result = _fused(result.astype(np.float64), variable, float(coefficient))
    return result


def _log(values: Float32Array) -> Float32Array:
    """Cephes' logf for normal numbers in (0, 1]."""
    bits = values.view(np.int32)
    exponent = ((bits >> 23) - 126).astype(np.float32)
    mantissa = ((bits & 0x007FFFFF) | 0x3F000000).view(np.float32)
    low_half = (mantissa < _SQRT_HALF).astype(np.float32)
    reduced = mantissa - _ONE
    exponent -= low_half
    reduced += mantissa * low_half
    square = reduced * reduced
    result = _polynomial(reduced.astype(np.float64), _LOG_COEFFICIENTS)
    result *= reduced
    result = _fused(
        result.astype(np.float64),
        square.astype(np.float64),
        (exponent * _LOG_TWO_LOW).astype(np.float64),
    )
    square *= _HALF
    result -= square
    result += reduced
    exponent *= _LOG_TWO_HIGH
    result += exponent
    return result


def _sine_and_cosine(angles: Float32Array) -> tuple[Float32Array, Float32Array]:
    """Cephes' sinf and cosf for angles in [0, 2 pi]."""
    octant = (angles * _FOUR_OVER_PI).astype(np.int32)
    octant += 1
    octant &= ~1
    reduced = angles
    multiple = octant.astype(np.float64)
    for part in _MINUS_QUARTER_PI:
        reduced = _fused(multiple, float(part), reduced)
    square = reduced * reduced
    wide_square = square.astype(np.float64)
    cosine = _polynomial(wide_square, _COSINE_COEFFICIENTS)
    cosine *= square
    half_square = square * _HALF
    cosine = _fused(cosine.astype(np.float64), wide_square, -half_square.astype(np.float64))
    cosine += _ONE
    sine = _polynomial(wide_square, _SINE_COEFFICIENTS)
    sine *= square
    wide_reduced = reduced.astype(np.float64)
    sine = _fused(sine.astype(np.float64), wide_reduced, wide_reduced)
    swapped = (octant & 2) != 0
    sine_sign = (octant & 4) << 29
    cosine_sign = (~(octant - 2) & 4) << 29
    return (
        _with_sign(np.where(swapped, cosine, sine), sine_sign),
        _with_sign(np.where(swapped, sine, cosine), cosine_sign),
    )


def _with_sign(values: Float32Array, sign_bits: Int32Array) -> Float32Array:
    return (values.view(np.int32) ^ sign_bits).view(np.float32)
