"""Enters: a shape and the strides of what is laid out in it. Leaves: the order of the dimensions.

Invariant: ties and broadcast dimensions (stride zero) leave the row-major order as it is, so the
order found is PyTorch's.
"""

from __future__ import annotations

from collections.abc import Sequence


def memory_order(shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]) -> list[int]:
    """Dimensions from fastest to slowest: an insertion sort, as ties make it order-bound."""
    order = list(range(len(shape) - 1, -1, -1))
    for start in range(1, len(order)):
        moving = start
        for other in range(start - 1, -1, -1):
            decision = _compare(order[other], order[moving], shape, strides)
            if decision > 0:
                order[other], order[moving] = order[moving], order[other]
                moving = other
            elif decision < 0:
                break
    return order


def _compare(
    a: int, b: int, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> int:
    for each in strides:
        first, second = each[a], each[b]
        if first == 0 or second == 0:
            continue
        if first != second:
            return -1 if first < second else 1
        if shape[a] > shape[b]:
            return 1
    return 0
