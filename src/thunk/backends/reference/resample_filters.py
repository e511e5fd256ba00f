"""Enters: the sizes of one axis before and after, and how to resize. Leaves: the axis's taps.

Invariant: places and weights are computed in the precision in which PyTorch computes them, as a
rounding there decides which element is the nearest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from thunk.backends.reference.taps import Taps

Float = type[numpy.floating[Any]]


def _ratio(size: int, out: int, scale: float | None, precision: Float) -> Any:
    """How far neighbours of the output are apart in the input."""
    if scale is not None and scale > 0:
        return precision(1.0 / scale)
    return precision(size) / precision(out)


def _step(size: int, out: int, aligned: bool, scale: float | None, precision: Float) -> Any:
    if not aligned:
        return _ratio(size, out, scale, precision)
    return precision(size - 1) / precision(out - 1) if out > 1 else precision(0)


def _places(size: int, out: int, aligned: bool, scale: float | None, precision: Float) -> Any:
    """Where each output element's centre lies among the input's."""
    step = _step(size, out, aligned, scale, precision)
    index = numpy.arange(out).astype(precision)
    if aligned:
        return step * index
    return step * (index + precision(0.5)) - precision(0.5)


def nearest(size: int, out: int, scale: float | None, precision: Float) -> Taps:
    """The element before each place."""
    at = numpy.arange(out).astype(precision) * _ratio(size, out, scale, precision)
    return Taps(_floor(at, size)[None])


def nearest_exact(size: int, out: int, scale: float | None, precision: Float) -> Taps:
    """The element whose centre is nearest to each place."""
    at = numpy.maximum(_places(size, out, False, scale, precision), precision(0))
    return Taps(_floor(at + precision(0.5), size)[None])


def _floor(at: Any, size: int) -> Any:
    whole = numpy.floor(at.astype(numpy.float32)).astype(numpy.int64)
    return numpy.minimum(whole, size - 1)


def linear(size: int, out: int, aligned: bool, scale: float | None, precision: Float) -> Taps:
    """The two elements around each place."""
    if size == out:
        index = numpy.arange(out)
        return Taps(numpy.stack([index, index]), numpy.stack([index * 0 + 1, index * 0]))
    at = numpy.maximum(_places(size, out, aligned, scale, precision), precision(0))
    first, share = _split(at, size)
    second = numpy.minimum(first + 1, size - 1)
    return Taps(numpy.stack([first, second]), numpy.stack([1 - share, share]))


def cubic(size: int, out: int, aligned: bool, scale: float | None, precision: Float) -> Taps:
    """The four elements around each place, those outside replaced by the border's."""
    first, share = _split(_places(size, out, aligned, scale, precision), size)
    index = first + numpy.arange(-1, 3)[:, None]
    return Taps(numpy.clip(index, 0, size - 1), cubic_weights(share))


def _split(at: Any, size: int) -> tuple[Any, Any]:
    whole = _floor(at, size)
    return whole, numpy.clip(at - whole.astype(at.dtype), 0, 1).astype(at.dtype)


def cubic_weights(share: Any) -> Any:
    """The weights of the four elements around a place `share` behind the second of them."""
    a = share.dtype.type(-0.75)

    def outer(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    def inner(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    return numpy.stack([outer(share + 1), inner(share), inner(1 - share), outer(2 - share)])


def _triangle(x: Any) -> Any:
    return numpy.maximum(1 - abs(x), 0)


def _keys(x: Any) -> Any:
    x, a = abs(x), -0.5
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return numpy.where(x < 1, near, numpy.where(x < 2, far, 0))


def _lanczos(x: Any) -> Any:
    return numpy.where(abs(x) < 3, numpy.sinc(x) * numpy.sinc(x / 3), 0)


FILTERS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "bilinear": (_triangle, 2), "bicubic": (_keys, 4), "lanczos": (_lanczos, 6),
}  # fmt: skip


def filtered(
    name: str, size: int, out: int, aligned: bool, scale: float | None, precision: Float
) -> Taps:
    """All elements within the filter's reach, which grows as the picture shrinks."""
    function, width = FILTERS[name]
    step = _step(size, out, aligned, scale, precision)
    stretch = max(step, precision(1))
    reach = precision(width * 0.5) * stretch
    half = precision(0.5)
    delta = half if aligned else precision(0)
    centre = step * (numpy.arange(out).astype(precision) + half - delta)
    begin = numpy.maximum((centre - reach + half + delta).astype(numpy.int64), 0)
    end = numpy.minimum((centre + reach + half + delta).astype(numpy.int64), size)
    most = math.ceil(float(reach)) * 2 + 1
    count = numpy.clip(end - begin, 0, most)
    offset = numpy.arange(int(count.max(initial=0)))[:, None]
    present = offset < count
    at = (offset + begin).astype(precision)
    weight = function((at - centre + half - delta) * (precision(1) / stretch))
    weight = numpy.where(present, weight, 0).astype(precision)
    total = weight.sum(0)
    weight = numpy.where(total != 0, weight / numpy.where(total != 0, total, 1), weight)
    return Taps(numpy.minimum(offset + begin, size - 1), weight, present)
