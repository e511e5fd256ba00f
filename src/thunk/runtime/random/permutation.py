"""Random permutations: a generator, a length and a dtype enter, a permutation of 0..n-1 leaves.

Invariant: the result is PyTorch's `randperm` and the generator ends in PyTorch's state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thunk.runtime.random.checks import (
    INTEGER_OR_REAL,
    REAL,
    bad_argument,
    checked_dtype,
    significand_digits,
)
from thunk.runtime.random.generator import Generator
from thunk.runtime.random.rounding import BFLOAT16, convert

Int64Array = npt.NDArray[np.int64]

# From this length on, PyTorch draws a permutation by another algorithm.
_LONG = (2**32 - 1) // 20
# Below this length a loop over Python integers is faster than sorting.
_SHORT = 512
_DRAWN_AT_A_TIME = 2**20


def randperm(
    generator: Generator, length: int, dtype: npt.DTypeLike = np.int64
) -> npt.NDArray[Any]:
    """`randperm`."""
    if length < 0:
        raise bad_argument(
            "randperm", "n >= 0", str(length), "pass the number of elements to permute"
        )
    target = checked_dtype("randperm", dtype, INTEGER_OR_REAL, 1)
    _check_length(length, target)
    with generator.lock:
        if length >= _LONG:
            return convert(_inside_out_shuffle(generator, length), target)
        # Nothing is drawn for the last place, which is its own partner.
        drawn = np.append(generator.draw32(max(length - 1, 0)), np.uint32(0))[:length]
    places = np.arange(length, dtype=np.uint32)
    partners = (drawn % (np.uint32(length) - places) + places).astype(np.int64)
    order = _swap_in_turn(partners) if length < _SHORT else _swap_by_sorting(partners)
    return convert(order, target)


def _check_length(length: int, dtype: np.dtype[Any]) -> None:
    # PyTorch sets no limit for bfloat16: its numbers from 257 on are rounded.
    if dtype == BFLOAT16:
        return
    if dtype in REAL:
        largest = 2 ** significand_digits(dtype) + 1
    else:
        largest = int(np.iinfo(dtype).max) + 1
    if length > largest:
        raise bad_argument(
            "randperm", f"n <= {largest} for {dtype.name}", str(length), "use a wider dtype"
        )


def _swap_in_turn(partners: Int64Array) -> Int64Array:
    """Exchange each place, from the first on, with its partner: itself or a later place."""
    order = list(range(partners.size))
    for place, partner in enumerate(partners.tolist()):
        order[place], order[partner] = order[partner], order[place]
    return np.array(order, dtype=np.int64)


def _swap_by_sorting(partners: Int64Array) -> Int64Array:
    """What `_swap_in_turn` returns, without a loop over places.

    Turn i moves place i's content to its partner and makes the partner's old content final at i. So
    a place holds what the latest turn with that partner moved there, else its own number; and what
    turn i moves is what the latest earlier turn with partner i moved, and so on back to a turn that
    moved its own number.
    """
    turns = np.arange(partners.size, dtype=np.int64)
    keys = (partners << 32) | turns
    keys.sort()
    turn, partner = keys & 0xFFFFFFFF, keys >> 32
    follows = partner[1:] == partner[:-1]
    # The latest turn before turn i with the same partner, or -1.
    rival = np.full(partners.size, -1, dtype=np.int64)
    rival[turn[1:]] = np.where(follows, turn[:-1], -1)
    # The latest turn before turn i with partner i, or i itself.
    source = turns.copy()
    last = np.append(~follows, True)
    source[partner[last]] = turn[last]
    unmoved = np.flatnonzero(partners == turns)
    source[unmoved] = np.where(rival[unmoved] >= 0, rival[unmoved], unmoved)
    while True:
        further = source[source]
        if np.array_equal(further, source):
            break
        source = further
    return np.where(rival < 0, partners, source[rival])


def _inside_out_shuffle(generator: Generator, length: int) -> Int64Array:
    """Each new element goes to a drawn place, whose old element moves to the end."""
    order = np.empty(length, dtype=np.int64)
    for start in range(0, length, _DRAWN_AT_A_TIME):
        stop = min(start + _DRAWN_AT_A_TIME, length)
        sizes = np.arange(start + 1, stop + 1, dtype=np.uint64)
        places = generator.draw64(stop - start) % sizes
        for element, place in enumerate(places.tolist(), start):
            order[element] = order[place]
            order[place] = element
    return order
