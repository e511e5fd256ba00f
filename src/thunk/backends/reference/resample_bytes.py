"""Enters: pictures of bytes and how to resize them. Leaves: bytes, computed in fixed point.

Invariant: weights are 16-bit integers as fine as the largest allows, every pass rounds to bytes,
and the width goes first: what PyTorch and Pillow compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from thunk.backends.reference.taps import Taps

_FINEST, _LIMIT = 22, 1 << 15


def resize_bytes(
    method: str, taps_of: Callable[..., Taps], pictures: Any, output_size: Sequence[int],
    aligned: bool, scales: Sequence[float | None],
) -> Any:  # fmt: skip
    """`pictures` (N, C, H, W) of bytes resized to `output_size`."""
    result = pictures
    for d in (1, 0):
        size, out = pictures.shape[2 + d], output_size[d]
        if size == out:
            continue
        weights, shift = _fixed_point(taps_of(size, out, aligned, scales[d], numpy.float64), size)
        # Sums of products of integers below 2**24 are exact in double precision.
        moved = numpy.moveaxis(result, 2 + d, -1).astype(numpy.float64)
        total = (moved @ weights.T).astype(numpy.int64) + (1 << shift >> 1)
        bytes_ = numpy.clip(total >> shift, 0, 255).astype(numpy.uint8)
        result = numpy.moveaxis(bytes_, -1, 2 + d)
    return result


def _fixed_point(taps: Taps, size: int) -> tuple[Any, int]:
    """The taps as a matrix (out, size) of whole numbers, and how many bits are fraction."""
    count = taps.index.shape[1]
    outputs = numpy.broadcast_to(numpy.arange(count), taps.index.shape)
    matrix = numpy.zeros((count, size))
    numpy.add.at(matrix, (outputs, taps.index), taps.weight)
    largest = matrix.max()
    shift = 0
    while shift < _FINEST and int(0.5 + largest * (1 << (shift + 1))) < _LIMIT:
        shift += 1
    scaled = matrix * (1 << shift)
    return numpy.trunc(scaled + numpy.where(scaled < 0, -0.5, 0.5)), shift
