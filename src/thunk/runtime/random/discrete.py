"""Integers and discrete distributions: a generator and parameters enter, samples leave.

Invariant: the samples have PyTorch's bits and the generator ends in PyTorch's state. Arrays are
C-contiguous; fill_order.py says how to fill other layouts.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from thunk.runtime.random import libm
from thunk.runtime.random.checks import (
    ANY_BUT_COMPLEX,
    BOOL_INTEGER_OR_REAL,
    INTEGER_OR_REAL,
    REAL,
    Shape,
    bad_argument,
    checked_dtype,
    count_of,
    largest_finite,
    significand_digits,
)
from thunk.runtime.random.generator import Generator
from thunk.runtime.random.rounding import BFLOAT16, convert, is_reduced
from thunk.runtime.random.uniforms import standard_uniform_double, standard_uniform_single

# From this width on, an integer takes 64 random bits (below, the modulo's skew is under 7%).
_WIDE_RANGE = 2**28
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_FULL_RANGE = frozenset((np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.float32), BFLOAT16))
_SIGNED_RANGE = INTEGER_OR_REAL - {np.dtype(np.float16)}


def random(generator: Generator, shape: Shape, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """`random_()` without bounds: [0, maximum] of an integer type, [0, 2**digits] of a float."""
    target = checked_dtype("random_", dtype, BOOL_INTEGER_OR_REAL, count_of(shape))
    count = count_of(shape)
    values: npt.NDArray[Any]
    if count == 0:
        return np.empty(tuple(shape), target)
    if target in (np.dtype(np.int64), np.dtype(np.float64)):
        values = generator.draw64(count)
    else:
        values = generator.draw32(count)
    if target == np.bool_:
        values = values & np.uint32(1)
    elif target in REAL:
        values = values % values.dtype.type(2 ** significand_digits(target) + 1)
    else:
        values = values & values.dtype.type(np.iinfo(target).max)
    return convert(values, target).reshape(tuple(shape))


def randint(
    generator: Generator,
    shape: Shape,
    dtype: npt.DTypeLike,
    low: int,
    high: int | None,
) -> npt.NDArray[Any]:
    """`randint` and `random_(from, to)`: integers of [low, high).

    `high=None` is `random_(from, None)`: up to the largest integer that the dtype holds exactly.
    """
    target = np.dtype(dtype)
    if high is None and low == _INT64_MIN:
        return _full_range(generator, shape, target)
    if target not in ANY_BUT_COMPLEX:
        raise bad_argument(
            "random_",
            "an integer, floating-point or boolean dtype",
            target.name,
            "sample in one of these and convert",
        )
    if high is None:
        if target == np.uint64:
            raise bad_argument(
                "random_",
                "'to' for uint64, whose maximum no signed bound can name",
                "None",
                "pass 'to'",
            )
        last = _largest_integer(target)
    else:
        if low >= high:
            raise bad_argument("random_", "from < to", f"from={low} and to={high}", "swap them")
        if target in REAL:
            low, high = _representable_bounds(low, high, target)
            if low >= high:
                raise bad_argument(
                    "random_",
                    f"from < to after rounding to {target.name}",
                    f"from={low} and to={high}",
                    "widen the interval or use a wider dtype",
                )
        last = high - 1
    _check_integer_bounds(low, last, target)
    width = last - low + 1
    count = count_of(shape)
    values: npt.NDArray[Any]
    if width >= _WIDE_RANGE:
        values = generator.draw64(count)
        values %= np.uint64(width)
    else:
        values = generator.draw32(count)
        values %= np.uint32(width)
        values = values.astype(np.uint64)
    # Unsigned addition wraps around as C++'s does.
    values += np.uint64(low % 2**64)
    return convert(values.view(np.int64), target).reshape(tuple(shape))


def _full_range(generator: Generator, shape: Shape, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    count = count_of(shape)
    checked_dtype("random_", dtype, _SIGNED_RANGE, count)
    if count > 0 and dtype not in _FULL_RANGE:
        raise bad_argument(
            "random_",
            "int64, float64, float32 or bfloat16 for the range of all 64-bit integers",
            dtype.name,
            "pass bounds that the dtype can hold",
        )
    values = generator.draw64(count).view(np.int64)
    return convert(values, dtype).reshape(tuple(shape))


def _largest_integer(dtype: np.dtype[Any]) -> int:
    if dtype in REAL:
        return int(min(2 ** significand_digits(dtype), _INT64_MAX))
    if dtype == np.bool_:
        return 1
    return int(np.iinfo(dtype).max)


def _representable_bounds(low: int, high: int, dtype: np.dtype[Any]) -> tuple[int, int]:
    """The nearest bounds inwards whose neighbours do not leave the interval when rounded."""
    digits = significand_digits(dtype)
    after = _rounded(low + 1, dtype)
    if after < low:
        low = after + 2 ** (abs(low + 1).bit_length() - digits)
    before = _rounded(high - 1, dtype)
    if before >= high:
        high = before - 2 ** (abs(high - 1).bit_length() - digits)
    return low, high


def _rounded(value: int, dtype: np.dtype[Any]) -> int:
    rounded = float(convert(np.array([value], np.int64), dtype).astype(np.float64)[0])
    if not math.isfinite(rounded) or not _INT64_MIN <= rounded <= _INT64_MAX:
        # The processor's conversion of an unrepresentable number to a 64-bit integer.
        return _INT64_MIN
    return int(rounded)


def _check_integer_bounds(low: int, last: int, dtype: np.dtype[Any]) -> None:
    minimum: float
    maximum: float
    if dtype in REAL:
        maximum = largest_finite(dtype)
        minimum = -maximum
    elif dtype == np.bool_:
        minimum, maximum = 0, 1
    else:
        minimum, maximum = int(np.iinfo(dtype).min), min(int(np.iinfo(dtype).max), _INT64_MAX)
    for name, value in (("from", low), ("to - 1", last)):
        if not (minimum <= value <= maximum):
            raise bad_argument(
                "random_",
                f"'{name}' within the range of {dtype.name}",
                str(value),
                "choose bounds that the dtype can hold",
            )
        if dtype in REAL and abs(value) > 2 ** significand_digits(dtype):
            digits = significand_digits(dtype)
            warnings.warn(
                f"random_: expected '{name}' within [-2**{digits}, 2**{digits}], got {value}; "
                f"{dtype.name} does not hold every integer beyond",
                UserWarning,
                stacklevel=3,
            )


def bernoulli(
    generator: Generator, shape: Shape, dtype: npt.DTypeLike, probability: float = 0.5
) -> npt.NDArray[Any]:
    """`bernoulli_(p)` with a number, and dropout's mask: double precision whatever the dtype."""
    if not (0 <= probability <= 1):
        raise bad_argument("bernoulli_", "0 <= p <= 1", str(probability), "pass a probability")
    target = checked_dtype("bernoulli_", dtype, BOOL_INTEGER_OR_REAL, count_of(shape))
    hits = standard_uniform_double(generator, count_of(shape)) < probability
    return hits.astype(target).reshape(tuple(shape))


def bernoulli_from(
    generator: Generator, probabilities: npt.NDArray[Any], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    """`bernoulli(p)` and `bernoulli_(p)` with a tensor that has the shape of the result.

    A float64 p is compared with a double (two words), any other one with a float32 (one word).
    """
    flat = probabilities.reshape(-1)
    target = checked_dtype("bernoulli_", dtype, BOOL_INTEGER_OR_REAL, flat.size)
    given = checked_dtype("bernoulli_", probabilities.dtype, REAL, flat.size)
    if is_reduced(given):
        flat = flat.astype(np.float32)
    draw = standard_uniform_double if given == np.float64 else standard_uniform_single
    wrong = ~((flat >= 0) & (flat <= 1))
    if wrong.any():
        first = int(np.argmax(wrong))
        draw(generator, first)  # PyTorch has sampled the elements before the bad one.
        raise RuntimeError(
            f"bernoulli_: expected 0 <= p <= 1, got {flat[first]} at element {first}; "
            "pass probabilities"
        )
    hits = draw(generator, flat.size) < flat
    return hits.astype(target).reshape(probabilities.shape)


def geometric(
    generator: Generator, shape: Shape, dtype: npt.DTypeLike, probability: float
) -> npt.NDArray[Any]:
    """`geometric_`: the number of trials up to the first success."""
    if not (0 < probability < 1):
        raise bad_argument(
            "geometric_", "0 < p < 1", str(probability), "pass a probability inside this interval"
        )
    target = checked_dtype("geometric_", dtype, INTEGER_OR_REAL, count_of(shape))
    uniforms = standard_uniform_double(generator, count_of(shape))
    trials = np.ceil(libm.log(uniforms) / math.log1p(-probability))
    return convert(trials, target).reshape(tuple(shape))
