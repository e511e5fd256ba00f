"""In which order PyTorch fills a tensor in place: shape and strides enter, an axis order leaves.

Invariant: a sampler's flat result, shaped by the permuted sizes and permuted back, is what PyTorch
writes into a tensor of these strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def fill_order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Axes from the slowest to the fastest in which PyTorch's samplers walk a tensor.

    They walk memory: a transposed or channels-last tensor is filled in the order of its elements in
    memory; of two axes of equal stride the shorter is the faster. `normal_` on such a tensor also
    samples one number after the other: pass `contiguous=False`.
    """
    fastest_first = list(range(len(shape)))[::-1]
    for start in range(1, len(shape)):
        place = start
        for earlier in range(start - 1, -1, -1):
            order = _compare(fastest_first[earlier], fastest_first[place], shape, strides)
            if order < 0:
                break
            if order > 0:
                moved = fastest_first[place]
                fastest_first[place] = fastest_first[earlier]
                fastest_first[earlier] = moved
                place = earlier
    return tuple(reversed(fastest_first))


def _compare(left: int, right: int, shape: Sequence[int], strides: Sequence[int]) -> int:
    """Positive if axis `left` is slower than `right`, negative if faster, 0 if undecided."""
    if strides[left] == 0 or strides[right] == 0:
        return 0
    if strides[left] != strides[right]:
        return 1 if strides[left] > strides[right] else -1
    return 1 if shape[left] > shape[right] else 0


def arrange(flat: npt.NDArray[Any], shape: Sequence[int], order: Sequence[int]) -> npt.NDArray[Any]:
    """Samples in fill order as an array of logical shape (a view)."""
    walked = flat.reshape([shape[axis] for axis in order])
    return walked.transpose(np.argsort(order))
