"""Enters: the geometry of a convolution. Leaves: code that lays windows out as columns, and back.

An image is dense, (channels, *size); columns are a dense matrix (channels * kernel, windows).
Invariant: where a window reaches into the padding, columns hold zeros, and nothing is added back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from thunk.backends.cpu.llvm.gemm_builder import Builder, Value, word


@dataclass(frozen=True, slots=True)
class Geometry:
    """One group of one sample: extents, and one number a spatial dimension."""

    channels: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    out: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]


class Windows:
    """Code for one geometry, inside a function under construction."""

    def __init__(self, build: Builder, scalar: Any, geometry: Geometry) -> None:
        self.build = build
        self.scalar = scalar
        self.geometry = geometry

    def gather(self, image: Value, columns: Value) -> None:
        """Write the columns."""
        zero = ir.Constant(self.scalar, 0.0)

        def line(source: Value, target: Value, begin: Value, end: Value) -> None:
            out = word(self.geometry.out[-1])
            for start, stop in ((word(0), begin), (end, out)):
                with self.build.loop(start, stop) as place:
                    at = self.build.at(columns, self.scalar, self.build.add(target, place))
                    self.build.ir.store(zero, at)
            with self.build.loop(begin, end) as place:
                value = self.build.ir.load(self._pixel(image, source, place), typ=self.scalar)
                at = self.build.at(columns, self.scalar, self.build.add(target, place))
                self.build.ir.store(value, at)

        self._lines(line)

    def scatter(self, columns: Value, image: Value) -> None:
        """Add the columns to an image."""

        def line(source: Value, target: Value, begin: Value, end: Value) -> None:
            with self.build.loop(begin, end) as place:
                at = self.build.at(columns, self.scalar, self.build.add(target, place))
                pixel = self._pixel(image, source, place)
                values = [self.build.ir.load(each, typ=self.scalar) for each in (pixel, at)]
                self.build.ir.store(self.build.ir.fadd(*values), pixel)

        self._lines(line)

    def _pixel(self, image: Value, source: Value, place: Value) -> Value:
        step = self.build.mul(place, word(self.geometry.stride[-1]))
        return self.build.at(image, self.scalar, self.build.add(source, step))

    def _lines(self, line: Callable[[Value, Value, Value, Value], None]) -> None:
        """Call `line` for every row of windows of every channel and position in the kernel.

        It is given the index of the row's first pixel, inside the image or not, that of its first
        column element, and which windows of the row have their pixel inside.
        """
        build, geometry = self.build, self.geometry

        def kernel(axis: int, row: Value, positions: list[Value]) -> None:
            if axis == len(geometry.kernel):
                self._row(row, positions, line)
                return
            with build.loop(word(0), word(geometry.kernel[axis])) as position:
                inner = build.add(build.mul(row, word(geometry.kernel[axis])), position)
                kernel(axis + 1, inner, [*positions, position])

        with build.loop(word(0), word(geometry.channels)) as channel:
            kernel(0, channel, [channel])

    def _row(self, row: Value, positions: list[Value], line: Callable[..., None]) -> None:
        """All windows, for one channel and one position in the kernel."""
        build, geometry = self.build, self.geometry
        channel, *kernel = positions
        last = len(geometry.out) - 1
        starts = [
            build.add(build.mul(each, word(gap)), word(-before))
            for each, gap, before in zip(kernel, geometry.dilation, geometry.before)
        ]

        def outer(axis: int, source: Value, target: Value, inside: Value) -> None:
            size, out = word(geometry.size[axis]), word(geometry.out[axis])
            source, target = build.mul(source, size), build.mul(target, out)
            if axis == last:
                begin, end = self._inside(starts[axis], inside)
                line(build.add(source, starts[axis]), target, begin, end)
                return
            with build.loop(word(0), out) as place:
                at = build.add(build.mul(place, word(geometry.stride[axis])), starts[axis])
                good = build.ir.icmp_unsigned("<", at, size)
                deeper = (build.add(source, at), build.add(target, place))
                outer(axis + 1, *deeper, build.ir.and_(inside, good))

        outer(0, channel, row, ir.Constant(ir.IntType(1), 1))

    def _inside(self, start: Value, inside: Value) -> tuple[Value, Value]:
        """The windows of a row whose pixel lies in the image; none if the row does not."""
        build, geometry = self.build, self.geometry
        out, step = word(geometry.out[-1]), word(geometry.stride[-1])
        below = build.ir.sub(build.add(step, word(-1)), start)
        first = self._larger(build.ir.sdiv(below, step), word(0))
        above = build.ir.sub(word(geometry.size[-1] - 1), start)
        past = build.add(build.ir.sdiv(above, step), word(1))
        negative = build.ir.icmp_signed("<", above, word(0))
        end = build.smaller(build.ir.select(negative, word(0), past), out)
        end = build.ir.select(inside, end, word(0))
        return build.smaller(first, end), end

    def _larger(self, left: Value, right: Value) -> Value:
        return self.build.ir.select(self.build.ir.icmp_signed(">", left, right), left, right)
