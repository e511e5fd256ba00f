"""Philox4x32-10: a seed, a stream's offset and element numbers enter, random numbers leave.

Invariant: element i depends on (seed, offset, i) alone, so neither the order nor the number of
threads matters. Compiled kernels give the same bits: what both compute is written once, below.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

UInt32Array = npt.NDArray[np.uint32]
UInt64Array = npt.NDArray[np.uint64]
Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]

# Of the paper by Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3".
ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)

_LN2 = 0.6931471805599453
_RIGHT_ANGLE = 1.5707963267948966
_ROOT_HALF = 0.7071067811865476
# 1 / (2 k + 1): log(m) = 2 s (1 + s**2 / 3 + s**4 / 5 + ...) of s = (m - 1) / (m + 1).
_LOGARITHM = tuple(1.0 / (2 * k + 1) for k in range(12))
# Of r**2, with |r| <= pi / 4.
_SINE = (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800, 1 / 6227020800,
         -1 / 1307674368000)  # fmt: skip
_COSINE = (1.0, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800, 1 / 479001600,
           -1 / 87178291200, 1 / 20922789888000)  # fmt: skip


def blocks(counters: UInt32Array, key: tuple[int, int]) -> UInt32Array:
    """Ten rounds on counters of four words each; as many words leave."""
    words = [counters[:, place].astype(np.uint64) for place in range(4)]
    first, second = key
    for _ in range(ROUNDS):
        left = words[0] * np.uint64(MULTIPLIERS[0])
        right = words[2] * np.uint64(MULTIPLIERS[1])
        words = [
            (right >> _HALF) ^ words[1] ^ np.uint64(first),
            right & _LOW,
            (left >> _HALF) ^ words[3] ^ np.uint64(second),
            left & _LOW,
        ]
        first = (first + KEY_STEPS[0]) & 0xFFFFFFFF
        second = (second + KEY_STEPS[1]) & 0xFFFFFFFF
    return np.stack(words, axis=1).astype(np.uint32)


def words_from(seed: int, offset: int, first: int, count: int) -> UInt32Array:
    """Words number `first` to `first + count - 1` of a stream.

    The counter is (number of the block, offset), both of 64 bits; the key is the seed.
    """
    start, end = first // 4, -(-(first + count) // 4)
    numbers = np.arange(start, end, dtype=np.uint64)
    counters = np.empty((end - start, 4), np.uint32)
    counters[:, 0] = numbers & _LOW
    counters[:, 1] = numbers >> _HALF
    counters[:, 2] = offset & 0xFFFFFFFF
    counters[:, 3] = (offset >> 32) & 0xFFFFFFFF
    made = blocks(counters, (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF)).ravel()
    return made[first - 4 * start :][:count]


def uniform_single(seed: int, offset: int, count: int, first: int = 0) -> Float32Array:
    """Multiples of 2**-24 in [0, 1): the upper bits of one word each."""
    words = words_from(seed, offset, first, count) >> np.uint32(8)
    return words.astype(np.float32) * np.float32(2.0**-24)


def _long_words(seed: int, offset: int, count: int, first: int) -> UInt64Array:
    """Two words each, the first of them the lower half."""
    pairs = words_from(seed, offset, 2 * first, 2 * count).astype(np.uint64)
    return pairs[0::2] | pairs[1::2] << _HALF


def uniform_double(seed: int, offset: int, count: int, first: int = 0) -> Float64Array:
    """Multiples of 2**-53 in [0, 1): the upper bits of two words each."""
    words = _long_words(seed, offset, count, first) >> np.uint64(11)
    return words.astype(np.float64) * 2.0**-53


def bernoulli_limit(probability: float) -> int:
    """Words below this number count as true: 0 to 2**32."""
    return int(np.ceil(np.float64(probability) * 2.0**32))


def bernoulli(
    seed: int, offset: int, probability: float, count: int, first: int = 0
) -> npt.NDArray[np.bool_]:
    """True with this probability, one word each."""
    words = words_from(seed, offset, first, count)
    return words.astype(np.uint64) < np.uint64(bernoulli_limit(probability))


class Arithmetic(Protocol):
    """What a normal number is computed with; arrays and vectors of compiled code both have it."""

    def choose(self, condition: Any, yes: Any, no: Any) -> Any:
        """`yes` where the condition holds."""

    def sqrt(self, x: Any) -> Any:
        """The square root, correctly rounded."""

    def floor(self, x: Any) -> Any:
        """The whole number that is not above."""

    def split(self, x: Any) -> tuple[Any, Any]:
        """A positive normal number as a mantissa in [1, 2) and a whole exponent."""


def _series(x: Any, coefficients: tuple[float, ...]) -> Any:
    result = x * coefficients[-1] + coefficients[-2]
    for coefficient in reversed(coefficients[:-2]):
        result = result * x + coefficient
    return result


def normal_of(arithmetic: Arithmetic, size: Any, turn: Any, odd: Any) -> Any:
    """Box and Muller: the cosine's number of a pair, or where `odd` the sine's; in float64.

    `size` is in (0, 1] and `turn` in [0, 1). Products and sums are rounded one by one: no fused
    operations, so every machine computes the same bits.
    """
    choose = arithmetic.choose
    mantissa, exponent = arithmetic.split(size)
    large = mantissa > 2 * _ROOT_HALF
    mantissa = choose(large, mantissa * 0.5, mantissa)
    exponent = choose(large, exponent + 1.0, exponent)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    logarithm = exponent * _LN2 + (s + s) * _series(s * s, _LOGARITHM)
    radius = arithmetic.sqrt(logarithm * -2.0)
    # The sine is the cosine of a quarter turn less, which is three more.
    quarters = turn * 4.0
    nearest = arithmetic.floor(quarters + 0.5)
    r = (quarters - nearest) * _RIGHT_ANGLE
    square = r * r
    phase = choose(odd, nearest + 3.0, nearest)
    phase = phase - arithmetic.floor(phase * 0.25) * 4.0
    crossed = phase - arithmetic.floor(phase * 0.5) * 2.0 >= 0.5
    wave = choose(crossed, _series(square, _SINE) * r, _series(square, _COSINE))
    negative = (phase >= 0.5) & (phase < 2.5)
    return radius * choose(negative, wave * -1.0, wave)


class _Arrays:
    """NumPy's arithmetic."""

    def choose(self, condition: Any, yes: Any, no: Any) -> Any:
        return np.where(condition, yes, no)

    def sqrt(self, x: Any) -> Any:
        return np.sqrt(x)

    def floor(self, x: Any) -> Any:
        return np.floor(x)

    def split(self, x: Any) -> tuple[Any, Any]:
        mantissa, exponent = np.frexp(x)
        return mantissa * 2.0, (exponent - 1).astype(np.float64)


def _normal(size: Float64Array, turn: Float64Array, first: int, count: int) -> Float64Array:
    """From uniform numbers of whole pairs, of which the first may not be wanted."""
    odd = np.arange(2 * size.size) % 2 == 1
    pairs = normal_of(_Arrays(), np.repeat(size, 2), np.repeat(turn, 2), odd)
    return np.asarray(pairs[first % 2 :][:count], np.float64)


def _whole_pairs(first: int, count: int) -> tuple[int, int]:
    start = first - first % 2
    return start, -(-(first + count - start) // 2) * 2


def normal_single(seed: int, offset: int, count: int, first: int = 0) -> Float32Array:
    """Normal numbers: elements 2 k and 2 k + 1 are made of words 2 k and 2 k + 1."""
    start, length = _whole_pairs(first, count)
    words = words_from(seed, offset, start, length).astype(np.float64)
    size = (words[0::2] + 1.0) * 2.0**-32
    return _normal(size, words[1::2] * 2.0**-32, first, count).astype(np.float32)


def normal_double(seed: int, offset: int, count: int, first: int = 0) -> Float64Array:
    """The same of 53 bits each."""
    start, length = _whole_pairs(first, count)
    words = (_long_words(seed, offset, length, start) >> np.uint64(11)).astype(np.float64)
    size = (words[0::2] + 1.0) * 2.0**-53
    return _normal(size, words[1::2] * 2.0**-53, first, count)
