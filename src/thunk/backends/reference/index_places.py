"""Enters: places in a flat array and values. Leaves: the array with the values reduced into it.

Invariant: a place that occurs several times receives every one of its values.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.base.errors import out_of_bounds


def expect_inside(
    name: str, index: Any, size: int, dim: int, kind: type[Exception], lowest: int = 0
) -> None:
    """Raise `kind` unless every element of `index` is a place in a dimension of `size`."""
    if index.size and (index.min() < lowest or index.max() >= size):
        wrong = index[(index < lowest) | (index >= size)].flat[0]
        raise kind(out_of_bounds(name, wrong, dim, size, lowest))


def add_at(flat: Any, places: Any, values: Any) -> None:
    """`flat[places] += values`, every occurrence counted."""
    values = numpy.ascontiguousarray(values, flat.dtype).reshape(-1)
    numpy.add.at(flat, numpy.ascontiguousarray(places).reshape(-1), values)


def places_along(shape: tuple[int, ...], dim: int, index: Any) -> Any:
    """The row-major number, in `shape`, of the element that each entry of `index` names."""
    numbers = numpy.arange(numpy.prod(shape, dtype=numpy.int64)).reshape(shape)
    within = numbers[tuple(slice(0, size) for size in _other_sizes(shape, dim, index.shape))]
    return numpy.take_along_axis(within, index.astype(numpy.int64, copy=False), dim)


def _other_sizes(shape: tuple[int, ...], dim: int, wanted: tuple[int, ...]) -> list[int]:
    return [shape[axis] if axis == dim else wanted[axis] for axis in range(len(shape))]


def reduce_at(flat: Any, places: Any, values: Any, reduce: str, include: bool) -> Any:
    """`flat` with `values` reduced into it; its own values there count if `include` says so."""
    places, values = places.reshape(-1), values.astype(flat.dtype, copy=False).reshape(-1)
    if not include:
        flat[places] = _identity(reduce, flat.dtype)
    _UFUNCS[reduce].at(flat, places, values)
    if reduce != "mean":
        return flat
    counts = numpy.bincount(places, minlength=flat.size) + (1 if include else 0)
    counts = numpy.maximum(counts, 1)
    if flat.dtype.kind in "biu":
        return flat // counts
    return flat / counts.astype(flat.real.dtype)


_UFUNCS: dict[str, Any] = {
    "sum": numpy.add, "mean": numpy.add, "prod": numpy.multiply,
    "amax": numpy.maximum, "amin": numpy.minimum,
}  # fmt: skip


def _identity(reduce: str, element: Any) -> Any:
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if element.kind == "b":
        return reduce == "amin"
    if element.kind in "iu":
        limits = numpy.iinfo(element)
        return limits.min if reduce == "amax" else limits.max
    return -numpy.inf if reduce == "amax" else numpy.inf
