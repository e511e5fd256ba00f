"""Distributions sampled by rejection: a generator and arrays of parameters enter, samples leave.

Invariant: the samples have PyTorch's bits and the generator ends in PyTorch's state. Elements are
sampled in logical order into a new C-contiguous array, one Python call an element.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from thunk.runtime.random.checks import (
    REAL,
    SINGLE_OR_DOUBLE,
    bad_argument,
    checked_dtype,
    smallest_normal,
)
from thunk.runtime.random.generator import Generator
from thunk.runtime.random.rounding import Float64Array, convert
from thunk.runtime.random.scalar_stream import ScalarStream

# Written in single precision in PyTorch, and used in double precision.
_SQUEEZE = float(np.float32(0.0331))


def poisson(generator: Generator, rates: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`poisson(rates)`, in the dtype of the rates."""
    dtype = checked_dtype("poisson", rates.dtype, REAL, 1)
    samples = np.empty(rates.size, np.int64)
    with ScalarStream(generator) as stream:
        for index, rate in enumerate(rates.astype(np.float64).reshape(-1).tolist()):
            if not rate >= 0:
                raise bad_argument("poisson", "rates >= 0", rate, "clamp them at zero")
            samples[index] = _poisson(rate, stream)
    return convert(samples, dtype).reshape(rates.shape)


def _poisson(rate: float, stream: ScalarStream) -> int:
    if rate == 0:
        return 0
    if rate >= 10:
        return _poisson_transformed(rate, stream)
    limit = math.exp(-rate)
    count, product = 0, stream.uniform()
    while product > limit:
        count += 1
        product *= stream.uniform()
    return count


def _poisson_transformed(rate: float, stream: ScalarStream) -> int:
    """Hoermann's transformed rejection (1993)."""
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = stream.uniform() - 0.5
        v = stream.uniform()
        us = 0.5 - abs(u)
        if us == 0:
            continue  # the quotient below is infinite, and the candidate is rejected
        k = _truncated((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= squeeze:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        left = _log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if left <= -rate + k * log_rate - math.lgamma(k + 1.0):
            return k


def _truncated(value: float) -> int:
    """Rounded down to a 64-bit integer; the lowest one if there is none, as the processor does."""
    return math.floor(value) if -(2.0**63) <= value < 2.0**63 else -(2**63)


def _log(value: float) -> float:
    """The logarithm of a number that may be zero, where Python's raises."""
    return math.log(value) if value != 0 else -math.inf


def standard_gamma(generator: Generator, concentration: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`_standard_gamma(concentration)`, at least the dtype's smallest normal number."""
    dtype = checked_dtype("_standard_gamma", concentration.dtype, SINGLE_OR_DOUBLE, 1)
    samples = _gamma_samples(generator, concentration, dtype)
    # fmax: PyTorch replaces NaN by the minimum.
    bounded: npt.NDArray[Any] = np.fmax(convert(samples, dtype), dtype.type(smallest_normal(dtype)))
    return bounded


def _gamma_samples(
    generator: Generator, concentration: npt.NDArray[Any], dtype: np.dtype[Any]
) -> Float64Array:
    samples = np.empty(concentration.size, np.float64)
    with ScalarStream(generator) as stream, np.errstate(all="ignore"):
        for index, alpha in enumerate(concentration.astype(dtype).reshape(-1)):
            samples[index] = _gamma(alpha, stream)
    return samples.reshape(concentration.shape)


def _gamma(alpha: Any, stream: ScalarStream) -> float:
    """Marsaglia and Tsang (2000); `alpha` is a NumPy scalar of the precision PyTorch uses."""
    single = np.float32
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = _power(1 - stream.uniform(), float(single(1) / alpha))
        alpha = alpha + single(1)
    d = float(alpha - single(1) / single(3))
    # Python's math raises where this is infinite or NaN.
    c = float(1.0 / np.sqrt(np.float64(9.0 * d)))
    while True:
        y = 0.0
        while y <= 0:
            x = stream.normal()
            y = 1.0 + c * x
        v = y * y * y
        u = 1 - stream.uniform()
        square = x * x
        if u < 1.0 - _SQUEEZE * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


def dirichlet(generator: Generator, concentration: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`_sample_dirichlet(concentration)`: gamma samples in float64, normalised on the last axis.

    The sum runs in NumPy's order; with many categories float64 results may differ from PyTorch's
    in the last bits.
    """
    dtype = checked_dtype("_sample_dirichlet", concentration.dtype, SINGLE_OR_DOUBLE, 1)
    doubles = concentration.astype(np.float64)
    samples = _gamma_samples(generator, doubles, np.dtype(np.float64))
    rows = np.atleast_1d(np.fmax(samples, smallest_normal(samples.dtype)))
    with np.errstate(all="ignore"):
        ratios = convert(rows / rows.sum(axis=-1, keepdims=True), dtype)
    below_one = np.nextafter(dtype.type(1), dtype.type(0))
    above_zero = dtype.type(smallest_normal(dtype))
    bounded: npt.NDArray[Any] = np.fmin(below_one, np.fmax(above_zero, ratios))
    return bounded.reshape(concentration.shape)
