"""NumPy rules of sampling pictures at the places of a grid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.resample_filters import cubic_weights
from thunk.ops.resample.grid import BICUBIC, BORDER, NEAREST, ZEROS
from thunk.types.spec import TensorSpec


@dataclass(frozen=True, slots=True)
class Axis:
    """How places along one axis, from -1 to 1, become indices into `size` elements."""

    size: int
    padding: int
    aligned: bool

    def scaled(self, at: Any) -> tuple[Any, float]:
        """Places as indices, and how fast they move."""
        if self.aligned:
            return (at + 1) / 2 * (self.size - 1), (self.size - 1) / 2
        return ((at + 1) * self.size - 1) / 2, self.size / 2

    def inside(self, at: Any) -> tuple[Any, Any]:
        """Indices brought into the picture as the padding says, and their derivative."""
        if self.padding == ZEROS:
            return at, numpy.ones((), at.dtype)
        if self.padding == BORDER:
            return self._clipped(at)
        low, span = (0.0, self.size - 1.0) if self.aligned else (-0.5, float(self.size))
        if span == 0:
            return numpy.zeros_like(at), numpy.zeros((), at.dtype)
        away = at - at.dtype.type(low)
        sign = numpy.where(away < 0, -1, 1).astype(at.dtype)
        away = abs(away)
        rest = numpy.fmod(away, at.dtype.type(span))
        odd = numpy.fmod(numpy.floor(away / at.dtype.type(span)), 2) != 0
        reflected = numpy.where(odd, span - rest, rest).astype(at.dtype) + at.dtype.type(low)
        clipped, moves = self._clipped(reflected)
        return clipped, moves * numpy.where(odd, -sign, sign)

    def _clipped(self, at: Any) -> tuple[Any, Any]:
        limit = self.size - 1
        moves = ((at > 0) & (at < limit)).astype(at.dtype)
        # The order of the two sends NaN to zero.
        return numpy.fmin(numpy.fmax(at, at.dtype.type(0)), at.dtype.type(limit)), moves


class Sampler:
    """One call's places: pictures (N, C, *size) flattened, indices and derivatives an axis."""

    def __init__(self, pictures: Any, grid: Any, padding: int, aligned: bool) -> None:
        self.size = pictures.shape[2:]
        self.flat = pictures.reshape(*pictures.shape[:2], math.prod(self.size))
        self.points = grid.shape[1:-1]
        self.axes = [Axis(size, padding, aligned) for size in self.size]
        self.raw, self.speed = [], []
        for axis, places in zip(self.axes, self.by_axis(grid)):
            at, speed = axis.scaled(places)
            self.raw.append(at)
            self.speed.append(speed)

    def by_axis(self, grid: Any) -> list[Any]:
        """A grid's coordinates (N, points) an axis; a grid holds the last axis first."""
        flat = grid.reshape(len(grid), math.prod(self.points), len(self.size))
        return [flat[..., d] for d in reversed(range(len(self.size)))]

    def as_grid(self, parts: list[Any]) -> Any:
        """The inverse of `by_axis`."""
        shape = (len(parts[0]), *self.points, len(parts))
        return numpy.stack(parts[::-1], -1).reshape(shape)

    def taken(self, index: list[Any]) -> tuple[Any, Any, Any]:
        """The elements (N, C, points) at whole indices, which of them exist, and where they lie."""
        present: Any = True
        place: Any = 0
        for at, size in zip(index, self.size):
            within = (at >= 0) & (at <= size - 1)
            present = present & within
            place = place * size + numpy.where(within, at, 0).astype(numpy.int64)
        values = numpy.take_along_axis(self.flat, place[:, None, :], 2)
        return numpy.where(present[:, None, :], values, values.dtype.type(0)), present, place

    def scattered(self, terms: list[tuple[Any, Any, Any]], dtype: Any) -> Any:
        """Pictures whose elements sum the terms (values (N, C, points), present, places)."""
        count, channels, cells = self.flat.shape
        rows = (numpy.arange(count * channels) * cells).reshape(count, channels, 1)
        weights = [numpy.where(present[:, None, :], values, 0) for values, present, _ in terms]
        places = [rows + place[:, None, :] for _, _, place in terms]
        total = numpy.bincount(
            numpy.concatenate(places, None), numpy.concatenate(weights, None),
            count * channels * cells,
        )  # fmt: skip
        return total.reshape(count, channels, *self.size).astype(dtype)


@dataclass(frozen=True, slots=True)
class Term:
    """One of the elements that a place weighs: its index, one number an axis.

    `weights` are the factors of its weight, `slopes` and `bends` their first and second
    derivatives in the grid.
    """

    index: list[Any]
    weights: list[Any]
    slopes: list[Any]
    bends: list[Any]

    def weight(self) -> Any:
        return _product(self.weights)

    def slope(self, d: int) -> Any:
        """The weight's derivative along axis d."""
        return _product([*self.weights[:d], self.slopes[d], *self.weights[d + 1 :]])

    def bend(self, d: int, e: int) -> Any:
        """The weight's second derivative along axes d and e."""
        factors = list(self.weights)
        if d == e:
            factors[d] = self.bends[d]
        else:
            factors[d], factors[e] = self.slopes[d], self.slopes[e]
        return _product(factors)


def _product(parts: list[Any]) -> Any:
    return math.prod(parts[1:], start=parts[0])


def _corners(sampler: Sampler) -> Iterator[Term]:
    """The corners of the cell around each place."""
    split = []
    for axis, raw, speed in zip(sampler.axes, sampler.raw, sampler.speed):
        at, moves = axis.inside(raw)
        floor = numpy.floor(at)
        slope = moves * at.dtype.type(speed) + numpy.zeros_like(at)
        split.append((floor, at - floor, slope))
    flat = [numpy.zeros_like(floor) for floor, _, _ in split]
    for corner in numpy.ndindex(*(2,) * len(split)):
        yield Term(
            [floor + bit for (floor, _, _), bit in zip(split, corner)],
            [share if bit else 1 - share for (_, share, _), bit in zip(split, corner)],
            [slope if bit else -slope for (_, _, slope), bit in zip(split, corner)],
            flat,
        )


def _sixteen(sampler: Sampler) -> Iterator[Term]:
    """The sixteen elements around each place of a picture."""
    split = []
    for axis, raw, speed in zip(sampler.axes, sampler.raw, sampler.speed):
        floor = numpy.floor(raw)
        share, factor = raw - floor, raw.dtype.type(speed)
        whole = [numpy.trunc(axis.inside(floor + offset)[0]) for offset in range(-1, 3)]
        slopes, bends = _cubic_derivatives(share)
        split.append((whole, cubic_weights(share), slopes * factor, bends * factor * factor))
    for tap in numpy.ndindex(4, 4):
        parts = [
            [part[position] for part, position in zip(parts, tap)] for parts in zip(*split)
        ]
        yield Term(*parts)


def _cubic_derivatives(share: Any) -> tuple[Any, Any]:
    """The first and second derivatives of `cubic_weights`."""
    a = share.dtype.type(-0.75)

    def outer(x: Any) -> Any:
        return (3 * a * x - 10 * a) * x + 8 * a

    def inner(x: Any) -> Any:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def outer_bend(x: Any) -> Any:
        return 6 * a * x - 10 * a

    def inner_bend(x: Any) -> Any:
        return 6 * (a + 2) * x - 2 * (a + 3)

    x = [share + 1, share, 1 - share, 2 - share]
    return (
        numpy.stack([outer(x[0]), inner(x[1]), -inner(x[2]), -outer(x[3])]),
        numpy.stack([outer_bend(x[0]), inner_bend(x[1]), inner_bend(x[2]), outer_bend(x[3])]),
    )


def _nearest(sampler: Sampler) -> list[Any]:
    pairs = zip(sampler.axes, sampler.raw)
    return [numpy.rint(axis.inside(raw)[0]) for axis, raw in pairs]


def _terms(sampler: Sampler, mode: int) -> Iterator[Term]:
    return _sixteen(sampler) if mode == BICUBIC else _corners(sampler)


def _sample(
    spec: TensorSpec, input: Any, grid: Any, mode: int, padding: int, aligned: bool
) -> Any:
    sampler = Sampler(input, grid, padding, aligned)
    if mode == NEAREST:
        return sampler.taken(_nearest(sampler))[0].reshape(spec.shape)
    total = numpy.zeros((*input.shape[:2], math.prod(sampler.points)), input.dtype)
    for term in _terms(sampler, mode):
        values, present, _ = sampler.taken(term.index)
        part = values * term.weight()[:, None, :]
        if len(sampler.size) == 3:  # volumes skip what is outside, even where the place is NaN
            part = numpy.where(present[:, None, :], part, 0)
        total += part
    return total.reshape(spec.shape)


def _sample_backward(
    grad_output: Any, input: Any, grid: Any, mode: int, padding: int, aligned: bool, mask: Any
) -> Any:
    sampler = Sampler(input, grid, padding, aligned)
    grad = grad_output.reshape(*grad_output.shape[:2], math.prod(sampler.points))
    to_grid = [numpy.zeros_like(raw) for raw in sampler.raw]
    parts = []
    if mode == NEAREST:
        _, present, place = sampler.taken(_nearest(sampler))
        parts.append((grad, present, place))
    else:
        for term in _terms(sampler, mode):
            values, present, place = sampler.taken(term.index)
            parts.append((grad * term.weight()[:, None, :], present, place))
            through = (grad * values).sum(1)
            for d, total in enumerate(to_grid):
                total += through * term.slope(d)
    to_input = sampler.scattered(parts, grad.dtype) if mask[0] else None
    return to_input, sampler.as_grid(to_grid)


@rule("grid_sampler_2d", "grid_sampler_3d", half="float32")
def grid_sampler(spec: TensorSpec, *arguments: Any) -> Any:
    return _sample(spec, *arguments)


@rule("grid_sampler_2d_backward", "grid_sampler_3d_backward", half="float32")
def grid_sampler_backward(specs: Any, *arguments: Any) -> Any:
    return _sample_backward(*arguments)




@rule("_grid_sampler_double_backward", half="float32")
def grid_sampler_double_backward(
    specs: Any, grad_grid: Any, grad_output: Any, input: Any, grid: Any, mode: int, padding: int,
    aligned: bool,
) -> Any:  # fmt: skip
    if mode == NEAREST:
        return [numpy.zeros(spec.shape, input.dtype) for spec in specs]
    sampler = Sampler(input, grid, padding, aligned)
    dims = range(len(sampler.axes))
    grad = grad_output.reshape(*grad_output.shape[:2], math.prod(sampler.points))
    along = sampler.by_axis(grad_grid)
    to_output = numpy.zeros_like(grad)
    to_grid = [numpy.zeros_like(raw) for raw in sampler.raw]
    parts = []
    for term in _terms(sampler, mode):
        values, present, place = sampler.taken(term.index)
        change = sum(along[d] * term.slope(d) for d in dims)[:, None, :]
        to_output += values * change
        parts.append((grad * change, present, place))
        through = (grad * values).sum(1)
        for e, total in enumerate(to_grid):
            total += through * sum(along[d] * term.bend(d, e) for d in dims)
    to_input = sampler.scattered(parts, grad.dtype)
    return to_output.reshape(specs[0].shape), to_input, sampler.as_grid(to_grid)
