"""Pictures sampled at the places of a grid, and the derivatives of that.

A place weighs a few elements around it: `Term` is one of them. Loops: pictures, channels, places.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from thunk.compiler.access import Access
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.ops.resample.grid import BICUBIC, BORDER, NEAREST, ZEROS
from thunk.types import dtype as d

CUBIC = -0.75  # the parameter of the cubic weights


@dataclass(frozen=True, slots=True)
class Axis:
    """How places along one axis, from -1 to 1, become indices into `size` elements."""

    size: int
    padding: int
    aligned: bool

    @property
    def speed(self) -> float:
        """How fast indices move with places."""
        return (self.size - 1) / 2 if self.aligned else self.size / 2

    def scaled(self, at: Expression) -> Expression:
        if self.aligned:
            return (at + 1) / 2 * (self.size - 1)
        return ((at + 1) * self.size - 1) / 2

    def inside(self, at: Expression) -> tuple[Expression, Expression]:
        """An index brought into the picture as the padding says, and its derivative."""
        one = at.maker.constant(1, at.dtype)
        if self.padding == ZEROS:
            return at, one
        if self.padding == BORDER:
            return self._clipped(at)
        low, span = (0.0, self.size - 1.0) if self.aligned else (-0.5, float(self.size))
        if span == 0:
            zero = at.maker.constant(0, at.dtype)
            return zero, zero
        away = at - low
        sign = (away < 0).where(-one, one)
        away = away.unary("abs")
        rest = away.math("fmod", span)
        turns = (away / span).unary("floor")
        odd = (turns - (turns * 0.5).unary("floor") * 2.0).ne(0)
        clipped, moves = self._clipped(odd.where(span - rest, rest) + low)
        return clipped, moves * odd.where(-sign, sign)

    def _clipped(self, at: Expression) -> tuple[Expression, Expression]:
        limit = float(self.size - 1)
        moves = ((at > 0) & (at < limit)).to(at.dtype)
        # The order of the two sends NaN to zero.
        positive = (at > 0).where(at, 0)
        return (positive < limit).where(positive, limit), moves


@dataclass(frozen=True, slots=True)
class Term:
    """One element that a place weighs: its index, the factors of its weight, their derivatives."""

    index: Sequence[Expression]
    weights: Sequence[Expression]
    slopes: Sequence[Expression]
    bends: Sequence[Expression]

    def weight(self) -> Expression:
        return prod(self.weights[1:], start=self.weights[0])

    def slope(self, axis: int) -> Expression:
        """The weight's derivative along an axis."""
        return self._with({axis: self.slopes[axis]})

    def bend(self, axis: int, other: int) -> Expression:
        """The weight's second derivative along two axes."""
        if axis == other:
            return self._with({axis: self.bends[axis]})
        return self._with({axis: self.slopes[axis], other: self.slopes[other]})

    def _with(self, changed: dict[int, Expression]) -> Expression:
        factors = [changed.get(axis, weight) for axis, weight in enumerate(self.weights)]
        return prod(factors[1:], start=factors[0])


class Sampler:
    """One call's loops, its places, and the elements that they weigh."""

    def __init__(
        self, at: At, input: Value, grid: Value, mode: int, padding: int, aligned: bool
    ) -> None:
        if input.spec.dtype not in (d.float32, d.float64):
            raise Unsupported("numbers that are rounded at each sum")
        at.math_known("fmod")
        self.at, self.input, self.mode = at, input, mode
        self.dims = len(input.spec.shape) - 2
        points = grid.spec.shape[1:-1]
        self.domain = at.over((*input.spec.shape[:2], *points))
        self.axes = [Axis(size, padding, aligned) for size in input.spec.shape[2:]]
        self.raw = [axis.scaled(self.coordinate(grid, number))
                    for number, axis in enumerate(self.axes)]  # fmt: skip

    def coordinate(self, grid: Value, axis: int) -> Expression:
        """A grid holds the last axis first."""
        return self.at.lower.load(self._component(self.at.lower.window(grid), axis))

    def _component(self, window: Access, axis: int) -> Access:
        first, *rest, step = window.strides
        offset = window.offset + (self.dims - 1 - axis) * step
        return Access(window.buffer, window.element, (first, 0, *rest), offset)

    def terms(self) -> Iterator[Term]:
        return self._sixteen() if self.mode == BICUBIC else self._corners()

    def nearest(self) -> list[Expression]:
        return [axis.inside(raw)[0].unary("rint") for axis, raw in zip(self.axes, self.raw)]

    def _corners(self) -> Iterator[Term]:
        """The corners of the cell around each place."""
        parts = []
        for axis, raw in zip(self.axes, self.raw):
            index, moves = axis.inside(raw)
            floor = index.unary("floor")
            slope = moves * axis.speed
            share = index - floor
            zero = share * 0.0
            parts.append([(floor, 1 - share, -slope, zero), (floor + 1, share, slope, zero)])
        for corner in itertools.product(*parts):
            yield Term(*zip(*corner))

    def _sixteen(self) -> Iterator[Term]:
        """The sixteen elements around each place of a picture."""
        parts = []
        for axis, raw in zip(self.axes, self.raw):
            floor = raw.unary("floor")
            share = raw - floor
            whole = [axis.inside(floor + float(step))[0].unary("trunc") for step in range(-1, 3)]
            slopes = [each * axis.speed for each in _cubic_slopes(share)]
            bends = [each * (axis.speed * axis.speed) for each in _cubic_bends(share)]
            parts.append(list(zip(whole, _cubic_weights(share), slopes, bends)))
        for tap in itertools.product(*parts):
            yield Term(*zip(*tap))

    def place(self, index: Sequence[Expression]) -> tuple[Expression, list[Expression]]:
        """Whether an element exists, and its index along each axis, 0 if it does not."""
        present: Expression | None = None
        found = []
        for at, axis in zip(index, self.axes):
            within = (at >= 0) & (at <= float(axis.size - 1))
            present = within if present is None else present & within
            found.append(within.where(at, 0).to(d.int64))
        assert present is not None
        return present, found

    def taken(self, index: Sequence[Expression]) -> tuple[Expression, Expression]:
        """The element at whole indices, 0 where there is none, and whether there is one."""
        present, places = self.place(index)
        window = self.at.lower.window(self.input)
        still = window.over((*window.strides[:2], *[0] * self.dims))
        value = self.at.terms.lookup(still, _total(places, window.strides[2:]))
        return present.where(value, 0), present

    def scatter(self, output: int, terms: list[tuple[Sequence[Expression], Expression]]) -> None:
        """Result `output` sums each term at its indices."""
        spec: Any = self.at.node.outputs[output].spec
        buffer = self.at.lower.buffer(self.at.node.outputs[output])
        whole = self.at.over(spec.shape)
        whole.store(self.at.terms.constant(0, spec.dtype), output)
        still = Access(buffer, spec.dtype, (*spec.strides[:2], *[0] * self.dims))
        over = tuple(range(2, 2 + self.dims))
        for index, value in terms:
            present, places = self.place(index)
            place = _total(places, spec.strides[2:])
            self.domain.scatter(still, place, present.where(value, 0), over, "add")

    def store_in_grid(self, output: int, parts: Sequence[Expression]) -> None:
        """Result `output` is a grid whose coordinates sum the parts over channels."""
        spec: Any = self.at.node.outputs[output].spec
        buffer = self.at.lower.buffer(self.at.node.outputs[output])
        window = Access(buffer, spec.dtype, spec.strides)
        for axis, part in enumerate(parts):
            target = self._component(window, axis)
            if self.domain.sizes[1] == 0:
                kept, total = self.at.over(spec.shape[:-1]), part.maker.constant(0, part.dtype)
            else:
                kept, total = self.domain.reduce("add", part, (1,)).kept(False)
            kept.write(target.over((target.strides[0], *target.strides[2:])), total)


def _total(places: Sequence[Expression], strides: Sequence[int]) -> Expression:
    parts = [place * stride for place, stride in zip(places, strides, strict=True)]
    return sum(parts[1:], start=parts[0])


def _cubic_weights(share: Expression) -> list[Expression]:
    a = CUBIC

    def outer(x: Expression) -> Expression:
        return ((x * a - 5 * a) * x + 8 * a) * x - 4 * a

    def inner(x: Expression) -> Expression:
        return (x * (a + 2) - (a + 3)) * x * x + 1

    return [outer(share + 1), inner(share), inner(1 - share), outer(2 - share)]


def _cubic_slopes(share: Expression) -> list[Expression]:
    a = CUBIC

    def outer(x: Expression) -> Expression:
        return (x * (3 * a) - 10 * a) * x + 8 * a

    def inner(x: Expression) -> Expression:
        return (x * (3 * (a + 2)) - 2 * (a + 3)) * x

    return [outer(share + 1), inner(share), -inner(1 - share), -outer(2 - share)]


def _cubic_bends(share: Expression) -> list[Expression]:
    a = CUBIC

    def outer(x: Expression) -> Expression:
        return x * (6 * a) - 10 * a

    def inner(x: Expression) -> Expression:
        return x * (6 * (a + 2)) - 2 * (a + 3)

    return [outer(share + 1), inner(share), inner(1 - share), outer(2 - share)]


def _sum(parts: Sequence[Expression]) -> Expression:
    return sum(parts[1:], start=parts[0])


@lowering("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(at: At, *arguments: Any) -> None:
    sampler = Sampler(at, *arguments)
    if sampler.mode == NEAREST:
        sampler.domain.store(sampler.taken(sampler.nearest())[0])
        return
    parts = []
    for term in sampler.terms():
        value, present = sampler.taken(term.index)
        part = value * term.weight()
        # Volumes skip what is outside, even where the place is NaN.
        parts.append(present.where(part, 0) if sampler.dims == 3 else part)
    sampler.domain.store(_sum(parts))


@lowering("grid_sampler_2d_backward", "grid_sampler_3d_backward")
def grid_sampler_backward(at: At, grad_output: Value, *arguments: Any) -> None:
    *rest, mask = arguments
    sampler = Sampler(at, *rest)
    grad = sampler.domain.read(grad_output)
    scattered: list[tuple[Sequence[Expression], Expression]] = []
    moved: list[list[Expression]] = [[] for _ in range(sampler.dims)]
    if sampler.mode == NEAREST:
        scattered.append((sampler.nearest(), grad))
        moved = [[at.terms.constant(0, grad.dtype)] for _ in range(sampler.dims)]
    else:
        for term in sampler.terms():
            scattered.append((term.index, grad * term.weight()))
            through = grad * sampler.taken(term.index)[0]
            for axis, parts in enumerate(moved):
                parts.append(through * term.slope(axis))
    if mask[0]:
        sampler.scatter(0, scattered)
    sampler.store_in_grid(1, [_sum(parts) for parts in moved])


@lowering("_grid_sampler_double_backward")
def grid_sampler_double_backward(
    at: At, grad_grid: Value, grad_output: Value, *arguments: Any
) -> None:
    sampler = Sampler(at, *arguments)
    if sampler.mode == NEAREST:
        for index, result in enumerate(at.node.outputs):
            domain = at.over(result.spec.shape)
            domain.store(at.terms.constant(0, result.spec.dtype), index)
        return
    axes = range(sampler.dims)
    grad = sampler.domain.read(grad_output)
    along = [sampler.coordinate(grad_grid, axis) for axis in axes]
    outputs, scattered = [], []
    moved: list[list[Expression]] = [[] for _ in axes]
    for term in sampler.terms():
        value = sampler.taken(term.index)[0]
        change = _sum([along[axis] * term.slope(axis) for axis in axes])
        outputs.append(value * change)
        scattered.append((term.index, grad * change))
        for other, parts in enumerate(moved):
            turn = _sum([along[axis] * term.bend(axis, other) for axis in axes])
            parts.append(grad * value * turn)
    sampler.domain.store(_sum(outputs), 0)
    sampler.scatter(1, scattered)
    sampler.store_in_grid(2, [_sum(parts) for parts in moved])
