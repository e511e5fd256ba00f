"""Continuous distributions: a generator, shape, dtype and parameters enter, samples leave.

Invariant: the samples have PyTorch's bits and the generator ends in PyTorch's state, except where a
function says otherwise. Arrays are C-contiguous; fill_order.py says how to fill other layouts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from thunk.runtime.random import libm
from thunk.runtime.random.box_muller import transform_pairs
from thunk.runtime.random.checks import (
    REAL,
    Shape,
    bad_argument,
    checked_dtype,
    count_of,
    largest_finite,
    working_dtype,
)
from thunk.runtime.random.generator import Generator
from thunk.runtime.random.rounding import (
    Float64Array,
    convert,
    fused_multiply_add_double,
    fused_multiply_add_single,
    is_reduced,
)
from thunk.runtime.random.uniforms import standard_uniform_double, standard_uniform_single

# From this many elements on, PyTorch fills contiguous tensors with normals in blocks.
_BLOCK = 16
_COMPLEX_PARTS: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}


def uniform(
    generator: Generator,
    shape: Shape,
    dtype: npt.DTypeLike,
    low: float = 0.0,
    high: float = 1.0,
) -> npt.NDArray[Any]:
    """`rand` and `uniform_`: samples of [low, high). Complex parts are sampled in turn."""
    parts = _COMPLEX_PARTS.get(np.dtype(dtype))
    if parts is not None:
        flat = uniform(generator, (2 * count_of(shape),), parts, low, high)
        return flat.view(dtype).reshape(tuple(shape))
    real = checked_dtype("uniform_", dtype, REAL, 1)
    _check_uniform_bounds(real, low, high)
    count = count_of(shape)
    with np.errstate(all="ignore"):
        if real == np.float64:
            width = high - low
            samples = standard_uniform_double(generator, count)
            moved: npt.NDArray[Any] = fused_multiply_add_double(samples, width, low)
        else:
            single_low = np.float32(low)
            width = float(np.float32(high) - single_low)
            single = standard_uniform_single(generator, count)
            moved = fused_multiply_add_single(single, width, float(single_low))
    result = convert(moved, real)
    if low != 0 or high != 1 or is_reduced(real):
        # Rounding may reach the excluded upper bound; PyTorch puts the lower one there.
        ends = convert(np.array([low, high]), real)
        at_upper_bound = result == ends[1]
        if at_upper_bound.any():
            result[at_upper_bound] = ends[0]
    return result.reshape(tuple(shape))


def _check_uniform_bounds(dtype: np.dtype[Any], low: float, high: float) -> None:
    limit = largest_finite(dtype)
    for name, value in (("from", low), ("to", high)):
        if not (-limit <= value <= limit):
            raise bad_argument(
                "uniform_",
                f"'{name}' within the range of {dtype.name}",
                str(value),
                "choose finite bounds or a wider dtype",
            )
    if not (low <= high):
        raise bad_argument("uniform_", "from <= to", f"from={low} and to={high}", "swap the bounds")
    if not (high - low <= limit):
        raise bad_argument(
            "uniform_",
            f"to - from within the range of {dtype.name}",
            f"from={low} and to={high}",
            "narrow the interval or use a wider dtype",
        )


def normal(
    generator: Generator,
    shape: Shape,
    dtype: npt.DTypeLike,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    contiguous: bool = True,
) -> npt.NDArray[Any]:
    """`randn` and `normal_`.

    `contiguous=False` samples as PyTorch does for a tensor that is not contiguous, one number after
    the other; below 16 elements both ways are the same. With tensors for mean and std, PyTorch
    samples with mean 0 (and std 1 if std is a tensor), then multiplies and adds.
    """
    parts = _COMPLEX_PARTS.get(np.dtype(dtype))
    if parts is not None:
        halved = std / math.sqrt(2)
        flat = normal(generator, (2 * count_of(shape),), parts, mean, halved, contiguous=contiguous)
        return flat.view(dtype).reshape(tuple(shape))
    real = checked_dtype("normal_", dtype, REAL, count_of(shape))
    if not (std >= 0):
        raise bad_argument("normal_", "std >= 0", str(std), "pass a standard deviation")
    count = count_of(shape)
    if count >= _BLOCK and contiguous:
        flat = _block_normals(generator, count, real, mean, std)
    else:
        flat = convert(sequential_normals(generator, count, mean, std), real)
    return flat.reshape(tuple(shape))


def _block_normals(
    generator: Generator, count: int, dtype: np.dtype[Any], mean: float, std: float
) -> npt.NDArray[Any]:
    """Blocks of 16: eight first and eight second halves of pairs. The last block is drawn anew so
    that it ends with the array. 16-bit types skip the draws that this overwrites."""
    whole = count - count % _BLOCK
    anew = 0 if whole == count else _BLOCK
    drawn = whole if is_reduced(dtype) else count
    uniforms = _standard_uniform(generator, drawn + anew, working_dtype(dtype))
    if anew:
        uniforms = np.concatenate([uniforms[:whole], uniforms[drawn:]])
    normals = convert(_transform_blocks(uniforms, mean, std), dtype)
    if not anew:
        return normals
    result = normals[:count]
    result[count - _BLOCK :] = normals[whole:].copy()
    return result


def _standard_uniform(generator: Generator, count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if dtype == np.float64:
        return standard_uniform_double(generator, count)
    return standard_uniform_single(generator, count)


def _transform_blocks(uniforms: npt.NDArray[Any], mean: float, std: float) -> npt.NDArray[Any]:
    blocks = uniforms.reshape(-1, 2, _BLOCK // 2)
    first, second = blocks[:, 0].ravel(), blocks[:, 1].ravel()
    result = np.empty_like(blocks)
    if uniforms.dtype == np.float64:
        radius = np.sqrt(-2.0 * libm.log(1.0 - first))
        angle = second * (2.0 * math.pi)
        pair = radius * libm.cos(angle), radius * libm.sin(angle)
        for half, values in enumerate(pair):
            moved = fused_multiply_add_double(values, std, mean)
            result[:, half] = moved.reshape(-1, _BLOCK // 2)
    else:
        for half, single in enumerate(transform_pairs(first, second)):
            moved_single = fused_multiply_add_single(single, std, mean)
            result[:, half] = moved_single.reshape(-1, _BLOCK // 2)
    return result.reshape(-1)


def sequential_normals(generator: Generator, count: int, mean: float, std: float) -> Float64Array:
    """Normals one after the other: pairs, whose second number waits in the generator."""
    standard = np.empty(count, np.float64)
    with generator.lock:
        filled = 0
        if count > 0 and generator.next_double_sample is not None:
            standard[0] = generator.next_double_sample
            generator.next_double_sample = None
            filled = 1
        missing = count - filled
        uniforms = standard_uniform_double(generator, missing + missing % 2)
        radius = np.sqrt(-2.0 * libm.log1p(-uniforms[1::2]))
        angle = uniforms[0::2] * (2.0 * math.pi)
        pairs = np.empty((radius.size, 2), np.float64)
        pairs[:, 0] = radius * libm.cos(angle)
        pairs[:, 1] = radius * libm.sin(angle)
        standard[filled:] = pairs.reshape(-1)[:missing]
        if missing % 2:
            generator.next_double_sample = float(pairs[-1, 1])
    return fused_multiply_add_double(standard, std, mean)


def exponential(
    generator: Generator, shape: Shape, dtype: npt.DTypeLike, rate: float = 1.0
) -> npt.NDArray[Any]:
    """`exponential_`."""
    real = _continuous_dtype("exponential_", dtype, count_of(shape))
    if not (rate > 0):
        raise bad_argument("exponential_", "lambda > 0", str(rate), "pass a positive rate")
    uniforms = standard_uniform_double(generator, count_of(shape))
    samples = (-1.0 / rate) * libm.log1p(-uniforms)
    return convert(samples, real).reshape(tuple(shape))


def cauchy(
    generator: Generator,
    shape: Shape,
    dtype: npt.DTypeLike,
    median: float = 0.0,
    sigma: float = 1.0,
) -> npt.NDArray[Any]:
    """`cauchy_`."""
    if not (sigma > 0):
        raise bad_argument("cauchy_", "sigma > 0", str(sigma), "pass a positive scale")
    real = _continuous_dtype("cauchy_", dtype, 1)
    uniforms = standard_uniform_double(generator, count_of(shape))
    tangents = libm.tan(math.pi * (uniforms - 0.5))
    samples = fused_multiply_add_double(tangents, sigma, median)
    return convert(samples, real).reshape(tuple(shape))


def log_normal(
    generator: Generator,
    shape: Shape,
    dtype: npt.DTypeLike,
    mean: float = 1.0,
    std: float = 2.0,
) -> npt.NDArray[Any]:
    """`log_normal_`, always one number after the other."""
    if not (std > 0):
        raise bad_argument("log_normal_", "std > 0", str(std), "pass a positive standard deviation")
    real = checked_dtype("log_normal_", dtype, REAL, count_of(shape))
    normals = sequential_normals(generator, count_of(shape), mean, std)
    return convert(libm.exp(normals), real).reshape(tuple(shape))


def _continuous_dtype(op: str, dtype: npt.DTypeLike, count: int) -> np.dtype[Any]:
    given = np.dtype(dtype)
    if count > 0 and given not in REAL:
        raise bad_argument(op, "a floating-point dtype", given.name, "sample in float32 or float64")
    return given
