"""NumPy rules of bincount and the histograms."""

from __future__ import annotations

import math
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


@rule("bincount")
def bincount(spec: None, self: Any, weights: Any, minlength: int) -> Any:
    if self.size and self.min() < 0:
        raise RuntimeError(f"bincount: expected 1-d non-negative integral inputs, got {self.min()}")
    single = weights is not None and weights.dtype == numpy.float32
    if weights is not None:
        weights = weights.astype(numpy.float64)
    if not self.size:
        return numpy.zeros(minlength, numpy.int64)
    counts = numpy.bincount(self.astype(numpy.int64), weights, minlength)
    return counts.astype(numpy.float32) if single else counts


@rule("histc")
def histc(spec: TensorSpec, self: Any, bins: int, min: Any, max: Any) -> Any:
    low, high = float(min), float(max)
    if low == high and self.size:
        low, high = float(self.min()), float(self.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"histc: expected a finite range, got [{low}, {high}]; pass min and max")
    first, last = self.dtype.type(low), self.dtype.type(high)
    inside = self[(self >= first) & (self <= last)]
    places = (inside - first) * self.dtype.type(bins) / (last - first)
    indices = numpy.minimum(places.astype(numpy.int64), bins - 1)
    return numpy.bincount(indices, minlength=bins)


def _edges(low: float, high: float, bins: int, element: Any) -> Any:
    """`bins + 1` equally spaced edges, counted from both ends as `linspace` does."""
    first, last = element.type(low), element.type(high)
    step = (last - first) / element.type(bins)
    index = numpy.arange(bins + 1)
    forward = first + step * index.astype(element)
    backward = last - step * (bins - index).astype(element)
    return numpy.where(index < (bins + 1) // 2, forward, backward).astype(element)


def _ranges(points: Any, range: Any) -> list[tuple[float, float]]:
    """The outer edges of each coordinate: as given, or those of the data."""
    count = points.shape[-1]
    if range is not None:
        found = list(zip(range[::2], range[1::2], strict=True))
    elif len(points):
        found = [(float(column.min()), float(column.max())) for column in points.T]
    else:
        found = [(0.0, 1.0)] * count
    for low, high in found:
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(
                f"histogramdd: expected a finite range, got [{low}, {high}]; pass range="
            )
    return [(low - 0.5, high + 0.5) if low == high else (low, high) for low, high in found]


def _count(points: Any, edges: list[Any], weight: Any, density: bool) -> Any:
    """How many points, or what weight, each cell of the grid holds."""
    shape = tuple(len(each) - 1 for each in edges)
    inside = numpy.ones(len(points), bool)
    cells = numpy.zeros(len(points), numpy.int64)
    for column, each in zip(points.T, edges, strict=True):
        inside &= (column >= each[0]) & (column <= each[-1])
        index = numpy.searchsorted(each, column, "right") - 1
        # The last cell includes its upper edge.
        index = numpy.where(index == len(each) - 1, len(each) - 2, index)
        cells = cells * max(len(each) - 1, 1) + index
    size = math.prod(shape)
    weights = None if weight is None else weight.reshape(-1)[inside].astype(numpy.float64)
    kept = cells[inside] if size else cells[:0]
    found = numpy.bincount(kept, weights if size else None, size)[:size]
    hist = found.astype(points.dtype).reshape(shape)
    if not density:
        return hist
    volume = numpy.ones((), points.dtype)
    for axis, each in enumerate(edges):
        widths = numpy.diff(each).reshape([-1 if d == axis else 1 for d in range(len(edges))])
        volume = volume * widths
    return hist / (hist.sum() * volume)


@rule("histogramdd")
def histogramdd(specs: Any, self: Any, bins: Any, range: Any, weight: Any, density: bool) -> Any:
    points = self.reshape(-1, self.shape[-1])
    outer = _ranges(points, range)
    edges = [_edges(*pair, each, self.dtype) for pair, each in zip(outer, bins, strict=True)]
    return _count(points, edges, weight, density), edges


@rule("histogramdd.TensorList_bins")
def histogramdd_edges(
    specs: Any, self: Any, bins: Any, range: Any, weight: Any, density: bool
) -> Any:
    edges = [numpy.array(each) for each in bins]
    return _count(self.reshape(-1, self.shape[-1]), edges, weight, density), edges
