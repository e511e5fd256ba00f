"""Enters: loops of two statements that touch one buffer. Leaves: how to split them alike.

Invariant: a link matches loops piece by piece, so that equal indices mean the same element.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod


@dataclass(frozen=True, slots=True)
class Link:
    """Sizes into which each loop of either side splits (outer to inner), and which pieces meet.

    `pairs` lists (left loop, left piece, right loop, right piece).
    """

    left: tuple[tuple[int, ...], ...]
    right: tuple[tuple[int, ...], ...]
    pairs: tuple[tuple[int, int, int, int], ...]


def link(
    left_sizes: tuple[int, ...], left_strides: tuple[int, ...],
    right_sizes: tuple[int, ...], right_strides: tuple[int, ...],
) -> Link | None:  # fmt: skip
    """Match loops by their strides through memory that both sides walk densely.

    Loops with stride 0 match nothing and are left whole. None if the loops do not refine each
    other.
    """
    left = _dense(left_sizes, left_strides)
    right = _dense(right_sizes, right_strides)
    if left is None or right is None:
        return None
    ends = {stride for stride, _, _ in left} | {stride for stride, _, _ in right}
    total_left = prod(size for _, size, _ in left)
    if total_left != prod(size for _, size, _ in right):
        return None
    bounds = sorted(ends | {total_left})
    if any(high % low for low, high in pairwise(bounds)):
        return None
    steps = list(pairwise(bounds))
    left_pieces = _pieces(left, steps, len(left_sizes))
    right_pieces = _pieces(right, steps, len(right_sizes))
    if left_pieces is None or right_pieces is None:
        return None
    pairs = tuple(
        (*left_pieces[1][low], *right_pieces[1][low]) for low, _ in reversed(steps)
    )  # fmt: skip
    return Link(
        _whole(left_pieces[0], left_sizes), _whole(right_pieces[0], right_sizes), pairs
    )


def _dense(
    sizes: tuple[int, ...], strides: tuple[int, ...]
) -> list[tuple[int, int, int]] | None:
    """Moving loops as (stride, size, loop) from inner to outer; None if they leave gaps."""
    moving = [
        (stride, size, loop)
        for loop, (size, stride) in enumerate(zip(sizes, strides, strict=True))
        if stride != 0
    ]
    moving.sort()
    wanted = 1
    for stride, size, _ in moving:
        if stride != wanted:
            return None
        wanted *= size
    return moving


def _pieces(
    loops: list[tuple[int, int, int]], steps: list[tuple[int, int]], rank: int
) -> tuple[list[list[int]], dict[int, tuple[int, int]]] | None:
    """Per loop the sizes of its pieces, outer first; and for each bound its (loop, piece)."""
    sizes: list[list[int]] = [[] for _ in range(rank)]
    owners: list[tuple[int, int]] = []
    for low, high in steps:
        for stride, size, loop in loops:
            if stride <= low and high <= stride * size:
                sizes[loop].insert(0, high // low)
                owners.append((low, loop))
                break
        else:
            return None
    where: dict[int, tuple[int, int]] = {}
    counts = [len(each) for each in sizes]
    for low, loop in owners:
        counts[loop] -= 1
        where[low] = (loop, counts[loop])
    return sizes, where


def _whole(pieces: list[list[int]], sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(
        [tuple(each) if each else (size,) for each, size in zip(pieces, sizes, strict=True)]
    )


def split_strides(
    strides: tuple[int, ...], pieces: tuple[tuple[int, ...], ...]
) -> tuple[int, ...]:
    """Strides over loops that were split into `pieces`."""
    result: list[int] = []
    for stride, sizes in zip(strides, pieces, strict=True):
        for position in range(len(sizes)):
            result.append(stride * prod(sizes[position + 1 :]))
    return tuple(result)


def positions(pieces: tuple[tuple[int, ...], ...]) -> list[int]:
    """The position of each loop's first piece among all pieces."""
    found = [0]
    for each in pieces[:-1]:
        found.append(found[-1] + len(each))
    return found
