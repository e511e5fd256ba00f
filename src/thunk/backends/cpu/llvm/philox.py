"""Enters: a seed and an offset as LLVM values, and which elements. Leaves: their random numbers.

Invariant: the bits are those of `runtime.random.philox`, whatever the width, the order and the
number of threads. `Stream` belongs before a loop, its methods into it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from thunk.backends.cpu.llvm.math.lanes import DOUBLE, Lanes, choose
from thunk.runtime.random import philox

_I1, _I32, _I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
_LOW = 0xFFFFFFFF


def _splat(builder: Any, scalar: Any, count: int) -> Lanes:
    """The scalar in every lane."""
    kind = ir.VectorType(scalar.type, count)
    empty = ir.Constant(kind, ir.Undefined)
    start = builder.insert_element(empty, scalar, _I32(0))
    zeros = ir.Constant(ir.VectorType(_I32, count), [0] * count)
    return Lanes(builder, builder.shuffle_vector(start, empty, zeros))


def _shuffled(lanes: Lanes, other: Lanes, places: list[int]) -> Lanes:
    mask = ir.Constant(ir.VectorType(_I32, len(places)), places)
    return lanes.like(lanes.builder.shuffle_vector(lanes.value, other.value, mask))


def _pattern(builder: Any, numbers: tuple[int, ...], count: int) -> Lanes:
    """The numbers in turn, in 64-bit lanes."""
    kind = ir.VectorType(_I64, count)
    return Lanes(builder, ir.Constant(kind, [numbers[i % len(numbers)] for i in range(count)]))


def _cast(lanes: Lanes, element: Any, count: int) -> Lanes:
    return lanes.like(lanes.builder.bitcast(lanes.value, ir.VectorType(element, count)))


class Stream:
    """One stream of words: `seed` and `offset` are `i64` values; `count` words at a time."""

    def __init__(self, builder: Any, seed: Any, offset: Any, count: int) -> None:
        self.count = count
        keys = _round_keys(Lanes(builder, seed))
        self._keys = [(first.value, second.value) for first, second in keys]
        self._offset = offset
        pairs = count // 2
        self._wide_offset = _splat(builder, offset, pairs)
        self._wide_keys = [
            _shuffled(
                _splat(builder, even, pairs), _splat(builder, odd, pairs), _alternating(pairs)
            )
            for even, odd in self._keys
        ]

    def consecutive(self, builder: Any, first: Any) -> Any:
        """Words `first` to `first + count - 1` as `<count x i32>`.

        `first` (an `i64`) and `count` are multiples of 4. Two 64-bit lanes hold a block as it lies
        in memory, so that a round is one multiplication, one shuffle and three bit operations.
        """
        count, pairs = self.count, self.count // 2
        start = _splat(builder, builder.lshr(first, _I64(2)), pairs)
        number = start + _pattern(builder, tuple(i // 2 for i in range(pairs)), pairs)
        state = _shuffled(number, self._wide_offset, _alternating(pairs))
        multipliers = _pattern(builder, philox.MULTIPLIERS, pairs)
        turned = [4 * (i // 4) + 3 - i % 4 for i in range(count)]
        for key in self._wide_keys:
            words = _cast((state & _LOW) * multipliers, _I32, count)
            crossed = _cast(_shuffled(words, words, turned), _I64, pairs)
            state = crossed ^ state.shift_in_zeros(32) ^ key
        return _cast(state, _I32, count).value

    def scattered(self, builder: Any, index: Any) -> Any:
        """The words of any elements: `<n x i64>` in, `<n x i32>` out; each costs a whole block."""
        count = index.type.count
        keys = [tuple(_splat(builder, each, count) for each in both) for both in self._keys]
        word = _words_at(Lanes(builder, index), keys, _splat(builder, self._offset, count))
        return builder.trunc(word.value, ir.VectorType(_I32, count))


def _round_keys(seed: Lanes) -> list[tuple[Lanes, Lanes]]:
    """The two halves of each round's key, as numbers below 2**32."""
    first, second = seed & _LOW, seed.shift_in_zeros(32)
    keys = [(first, second)]
    for _ in range(philox.ROUNDS - 1):
        first = (first + philox.KEY_STEPS[0]) & _LOW
        second = (second + philox.KEY_STEPS[1]) & _LOW
        keys.append((first, second))
    return keys


def _words_at(places: Lanes, keys: list[Any], offset: Lanes) -> Lanes:
    """One word of each lane's block, in the lower half of its 64 bits."""
    left, right = places.shift_in_zeros(2), offset
    for key, other in keys:
        low = (left & _LOW) * philox.MULTIPLIERS[0]
        high = (right & _LOW) * philox.MULTIPLIERS[1]
        left, right = (
            _exchanged(high) ^ left.shift_in_zeros(32) ^ key,
            _exchanged(low) ^ right.shift_in_zeros(32) ^ other,
        )
    half = choose((places & 2).equals(0), left, right)
    return choose((places & 1).equals(0), half, half.shift_in_zeros(32))


def word(builder: Any, index: Any, seed: Any, offset: Any) -> Any:
    """The words of any elements, as 64-bit lanes; so are the index, the seed and the offset."""
    keys = _round_keys(Lanes(builder, seed))
    return (_words_at(Lanes(builder, index), keys, Lanes(builder, offset)) & _LOW).value


def box_muller(builder: Any, size: Any, turn: Any, odd: Any) -> Any:
    """A normal number of uniform doubles; `odd` is 1.0 for the second one of a pair, else 0.0."""
    first, second = Lanes(builder, size), Lanes(builder, turn)
    value = philox.normal_of(_Vectors(), first, second, Lanes(builder, odd) > 0.0)
    assert isinstance(value, Lanes)
    return value.value


def _alternating(pairs: int) -> list[int]:
    """Even lanes of the first, odd lanes of the second of two vectors."""
    return [i if i % 2 == 0 else pairs + i for i in range(pairs)]


def _exchanged(x: Lanes) -> Lanes:
    """The halves of 64-bit lanes exchanged."""
    return x.shift_in_zeros(32) | (x << 32)


def uniform_single(builder: Any, words: Any) -> Any:
    """Multiples of 2**-24 in [0, 1) as floats, one word each."""
    lanes = Lanes(builder, words).shift_in_zeros(8)
    return (lanes.to_floats() * 2.0**-24).value


def _long_words(builder: Any, words: Any) -> Lanes:
    """Pairs of words as 64-bit lanes."""
    return _cast(Lanes(builder, words), _I64, words.type.count // 2)


def _whole_double(x: Lanes) -> Lanes:
    """A whole number below 2**53 as a double; not every machine has an instruction for it."""
    high = x.shift_in_zeros(32) | DOUBLE.bits_of(2.0**84)
    low = (x & _LOW) | DOUBLE.bits_of(2.0**52)
    return (high.as_floats() - (2.0**84 + 2.0**52)) + low.as_floats()


def uniform_double(builder: Any, words: Any) -> Any:
    """Multiples of 2**-53 in [0, 1) as doubles, two words each."""
    return (_whole_double(_long_words(builder, words).shift_in_zeros(11)) * 2.0**-53).value


def bernoulli_limit(builder: Any, probability: Any) -> Any:
    """The scalar double as an `i64` limit of words; before the loop."""
    scaled = Lanes(builder, probability) * 2.0**32
    return builder.fptosi(scaled.ceil().value, _I64)


def bernoulli(builder: Any, words: Any, limit: Any) -> Any:
    """`<n x i1>`: which words lie below the limit of `bernoulli_limit`."""
    count = words.type.count
    low = _splat(builder, builder.trunc(limit, _I32), count)
    below = builder.icmp_unsigned("<", words, low.value)
    # A limit of 2**32 does not fit into a word: then all lie below it.
    every = builder.icmp_signed(">", limit, _I64(_LOW))
    return builder.or_(below, _splat(builder, every, count).value)


class _Vectors:
    """The arithmetic of compiled code."""

    def choose(self, condition: Lanes, yes: Any, no: Any) -> Lanes:
        return choose(condition, yes, no)

    def sqrt(self, x: Lanes) -> Lanes:
        return x.sqrt()

    def floor(self, x: Lanes) -> Lanes:
        return x.floor()

    def split(self, x: Lanes) -> tuple[Lanes, Lanes]:
        bits = x.as_bits()
        mantissa = (bits & ((1 << 52) - 1)) | DOUBLE.bits_of(1.0)
        whole = bits.shift_in_zeros(52) + (DOUBLE.bits_of(DOUBLE.magic) - DOUBLE.bias)
        return mantissa.as_floats(), whole.as_floats() - DOUBLE.magic


def _normal(size: Lanes, turn: Lanes) -> Lanes:
    """Each pair's two numbers, from uniform numbers in even and odd lanes."""
    count = size.value.type.count
    odd = ir.Constant(ir.VectorType(_I1, count), [i % 2 for i in range(count)])
    even_lanes = _shuffled(size, size, [i - i % 2 for i in range(count)])
    odd_lanes = _shuffled(turn, turn, [i - i % 2 + 1 for i in range(count)])
    value = philox.normal_of(_Vectors(), even_lanes, odd_lanes, size.like(odd))
    assert isinstance(value, Lanes)
    return value


def normal_single(builder: Any, words: Any) -> Any:
    """Normal numbers as floats from consecutive words, of which the first has an even number."""
    count = words.type.count
    wide = builder.zext(words, ir.VectorType(_I64, count))
    uniform = _whole_double(Lanes(builder, wide))
    return _normal((uniform + 1.0) * 2.0**-32, uniform * 2.0**-32).narrowed().value


def normal_double(builder: Any, words: Any) -> Any:
    """The same as doubles, two words each."""
    uniform = _whole_double(_long_words(builder, words).shift_in_zeros(11))
    return _normal((uniform + 1.0) * 2.0**-53, uniform * 2.0**-53).value


# For terms of the code generator, which have one value a lane.
FUNCTIONS: dict[str, Callable[..., Any]] = {"philox_word": word, "box_muller": box_muller}
