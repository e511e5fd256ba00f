"""Enters: angles, shifts, scales, shears and corner points. Leaves: the maps that undo them.

Invariant: a map leads from a place in the result to the place in the source it shows, around the
centre of the picture; six numbers for affine maps, eight for perspective ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy


def inverse_affine(
    center: Sequence[float],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
) -> list[float]:
    """The inverse of: shear, rotate by `angle` degrees and scale around the centre, then shift."""
    turn, shear_x, shear_y = (math.radians(degrees) for degrees in (angle, *shear))
    a = math.cos(turn - shear_y) / math.cos(shear_y)
    b = -a * math.tan(shear_x) - math.sin(turn)
    c = math.sin(turn - shear_y) / math.cos(shear_y)
    d = -c * math.tan(shear_x) + math.cos(turn)
    # The forward matrix has determinant 1, so its inverse needs no division but that by the scale.
    rows = ((d / scale, -b / scale), (-c / scale, a / scale))
    shift = (-center[0] - translate[0], -center[1] - translate[1])
    made: list[float] = []
    for (first, second), origin in zip(rows, center):
        made += [first, second, first * shift[0] + second * shift[1] + origin]
    return made


def expanded_size(matrix: Sequence[float], width: int, height: int) -> tuple[int, int]:
    """The width and height that hold the whole turned picture."""
    half_width, half_height = 0.5 * width, 0.5 * height
    corners = numpy.array(
        [
            [-half_width, -half_height, 1.0],
            [-half_width, half_height, 1.0],
            [half_width, half_height, 1.0],
            [half_width, -half_height, 1.0],
        ],
        numpy.float32,
    )
    places = corners @ numpy.array(matrix, numpy.float32).reshape(2, 3).T
    corner = numpy.array([half_width, half_height], numpy.float32)
    low, high = places.min(0) + corner, places.max(0) + corner
    # Whole numbers that rounding pushed over an integer must not add a pixel.
    step = numpy.float32(1e-4)
    span = numpy.ceil(numpy.trunc(high / step) * step) - numpy.floor(numpy.trunc(low / step) * step)
    return int(span[0]), int(span[1])


def perspective_coefficients(
    startpoints: Sequence[Sequence[int]], endpoints: Sequence[Sequence[int]]
) -> list[float]:
    """The eight numbers that map the four end points to the four start points."""
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            "perspective: Please provide exactly four corners, got "
            f"{len(startpoints)} startpoints and {len(endpoints)} endpoints."
        )
    rows = []
    for (end_x, end_y), (start_x, start_y) in zip(endpoints, startpoints):
        rows.append([end_x, end_y, 1, 0, 0, 0, -start_x * end_x, -start_x * end_y])
        rows.append([0, 0, 0, end_x, end_y, 1, -start_y * end_x, -start_y * end_y])
    wanted = numpy.array(startpoints, numpy.float64).reshape(8)
    found, *_ = numpy.linalg.lstsq(numpy.array(rows, numpy.float64), wanted, rcond=None)
    return [float(number) for number in found.astype(numpy.float32)]
