"""The binomial distribution: a generator, counts and probabilities enter, samples leave.

Invariant: the samples have PyTorch's bits and the generator ends in PyTorch's state. `count` and
`prob` are NumPy scalars of the arrays' precision, because PyTorch mixes it with double precision;
the calls of float() mark where it widens them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from thunk.runtime.random.checks import REAL, SINGLE_OR_DOUBLE, bad_argument, checked_dtype
from thunk.runtime.random.generator import Generator
from thunk.runtime.random.scalar_stream import ScalarStream

# From this mean on, candidates are drawn and rejected; below, trials are counted.
_LARGE_MEAN = 10.0

# log(k!) less Stirling's approximation, for k = 0..9.
_STIRLING_TAIL = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def binomial(
    generator: Generator, counts: npt.NDArray[Any], probabilities: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """`binomial(count, prob)`, in the dtype and shape of the counts."""
    for name, array in (("count", counts), ("prob", probabilities)):
        if array.dtype not in REAL:
            raise ValueError(
                f"binomial: expected a floating-point dtype for {name}, got {array.dtype.name}; "
                "convert it"
            )
    if counts.dtype != probabilities.dtype:
        raise bad_argument(
            "binomial",
            f"prob of dtype {counts.dtype.name}, as count has",
            probabilities.dtype.name,
            "convert one of them",
        )
    dtype = checked_dtype("binomial", counts.dtype, SINGLE_OR_DOUBLE, 1)
    samples = np.empty(counts.size, dtype)
    pairs = zip(counts.reshape(-1), np.broadcast_to(probabilities, counts.shape).reshape(-1))
    with ScalarStream(generator) as stream, np.errstate(all="ignore"):
        for index, (count, prob) in enumerate(pairs):
            samples[index] = _binomial(count, prob, stream)
    return samples.reshape(counts.shape)


def _binomial(count: Any, prob: Any, stream: ScalarStream) -> Any:
    if count <= 0 or prob <= 0:
        return 0
    if prob >= 1:
        return count
    if math.isnan(count) or math.isnan(prob):
        return math.nan
    if prob <= 0.5:
        return _successes(count, prob, stream)
    return count - _successes(count, type(prob)(1.0 - float(prob)), stream)


def _successes(count: Any, prob: Any, stream: ScalarStream) -> Any:
    if count * prob >= _LARGE_MEAN:
        return _transformed_rejection(count, prob, stream)
    return _counted_trials(count, prob, stream)


def _counted_trials(count: Any, prob: Any, stream: ScalarStream) -> Any:
    """Sum up geometric waiting times until they exceed the number of trials."""
    log_failure = float(type(prob)(math.log1p(-float(prob))))
    trials, successes = 0, 0
    while True:
        u = stream.uniform()
        waiting = math.log(u) / log_failure if u > 0 else math.inf
        if waiting > count:
            return type(count)(successes)
        trials += math.ceil(waiting)
        if trials > count:
            return type(count)(successes)
        successes += 1


def _transformed_rejection(count: Any, prob: Any, stream: ScalarStream) -> Any:
    """Hoermann's BTRS (1993), with the logarithm that PyTorch takes of the drawn ratio."""
    failure = 1 - prob
    deviation = float(np.sqrt(count * prob * failure))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * float(prob)
    c = float(count * prob) + 0.5
    squeeze = 0.92 - 4.2 / b
    odds = float(prob / failure)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = float(np.floor((count + 1) * prob))
    while True:
        u = stream.uniform() - 0.5
        v = stream.uniform()
        us = 0.5 - abs(u)
        if us == 0:
            continue  # the quotient below is infinite, and the candidate is rejected
        k = type(count)(np.floor(np.float64((2 * a / us + b) * u + c)))
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= squeeze:
            return k
        ratio = float(np.log(np.float64(v * alpha / (a / (us * us) + b))))
        if ratio <= _log_density(count, k, odds, mode):
            return k


def _log_density(count: Any, k: Any, odds: float, mode: float) -> float:
    total = float(count)
    others = float(count - k + 1)
    above_mode = total - mode + 1
    return (
        (mode + 0.5) * math.log((mode + 1) / (odds * above_mode))
        + float(count + 1) * math.log(above_mode / others)
        + (float(k) + 0.5) * math.log(odds * others / float(k + 1))
        + _stirling_tail(mode)
        + _stirling_tail(total - mode)
        - _stirling_tail(float(k))
        - _stirling_tail(float(count - k))
    )


def _stirling_tail(k: float) -> float:
    if k < len(_STIRLING_TAIL):
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
