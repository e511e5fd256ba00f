"""Pictures of other sizes, with mirrored or repeated borders, or rolled around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from thunk.backends.cpu.lowering.index import in_order
from thunk.backends.cpu.lowering.taps import gathered, sum_along
from thunk.backends.reference.rearrange import clamped, mirrored
from thunk.backends.reference.resample import taps_of_axes
from thunk.backends.reference.taps import Taps
from thunk.compiler.lowering import At, Unsupported, lowering
from thunk.ir.graph import Scalar, Value
from thunk.ops.resample.upsample import RESIZES, Resize
from thunk.types import dtype as d

Places = Callable[[int, int, int], Any]


def _register_resize(resize: Resize) -> None:
    dims = resize.dims

    @lowering(resize.name)
    def forward(at: At, self: Value, output_size: Any, *rest: Any) -> None:
        _check(self, rest)
        size = self.spec.shape[2:]
        taps = taps_of_axes(resize, size, output_size, rest, self.spec.dtype is d.float64)
        if all(len(each.index) == 1 and each.weight is None for each in taps):
            domain = at.points()
            places = [None, None, *[each.index[0] for each in taps]]
            domain.store(gathered(at, domain, at.lower.window(self), places))
            return
        axes = [(2 + axis, taps[axis]) for axis in reversed(range(dims))]
        domain, term = sum_along(at, at.lower.window(self), self.spec.shape, axes)
        domain.store(term)

    @lowering(f"{resize.name}_backward")
    def backward(
        at: At, grad_output: Value, output_size: Any, input_size: Any, *rest: Any
    ) -> None:
        _check(grad_output, rest)
        size = tuple(input_size[2:])
        # PyTorch finds the nearest element in float32, also for gradients in float64.
        wide = grad_output.spec.dtype is d.float64 and "nearest" not in resize.name
        taps = taps_of_axes(resize, size, output_size, rest, wide)
        axes = [(2 + axis, taps[axis].transposed(size[axis])) for axis in range(dims)]
        domain, term = sum_along(
            at, at.lower.window(grad_output), grad_output.spec.shape, axes
        )
        domain.store(term)


def _check(value: Value, options: Sequence[Any]) -> None:
    if not value.spec.dtype.is_floating_point:
        raise Unsupported("bytes, which are rounded in a way of their own")
    if any(isinstance(each, Scalar) for each in options):
        raise Unsupported("scales that are known only at run time")


for _resize in RESIZES:
    _register_resize(_resize)


def _tables(places_of: Places, shape: Sequence[int], padding: Any) -> list[Any]:
    tables: list[Any] = [None] * len(shape)
    for position in range(len(padding) // 2):
        before, after = padding[2 * position], padding[2 * position + 1]
        dim = len(shape) - 1 - position
        if before or after:
            tables[dim] = places_of(shape[dim], before, after)
    return tables


def _register_padding(name: str, places_of: Places) -> None:
    @lowering(*[f"{name}_pad{dims}d" for dims in (1, 2, 3)])
    def forward(at: At, self: Value, padding: Any) -> None:
        domain = at.points()
        tables = _tables(places_of, self.spec.shape, padding)
        domain.store(gathered(at, domain, at.lower.window(self), tables))

    @lowering(*[f"{name}_pad{dims}d_backward" for dims in (1, 2, 3)])
    def backward(at: At, grad_output: Value, self: Value, padding: Any) -> None:
        shape = self.spec.shape
        axes = [
            (dim, Taps(table[None]).transposed(shape[dim]))
            for dim, table in enumerate(_tables(places_of, shape, padding)) if table is not None
        ]  # fmt: skip
        domain, term = sum_along(
            at, at.lower.window(grad_output), grad_output.spec.shape, axes
        )
        domain.store(term)


_register_padding("reflection", mirrored)
_register_padding("replication", clamped)


@lowering("roll")
def roll(at: At, self: Value, shifts: Any, dims: Any) -> None:
    shape = self.spec.shape
    if dims:
        tables: list[Any] = [None] * len(shape)
        for shift, dim in zip(shifts, dims, strict=True):
            place = dim % len(shape)
            known = numpy.arange(shape[place]) if tables[place] is None else tables[place]
            tables[place] = numpy.roll(known, shift)
        domain = at.points()
        domain.store(gathered(at, domain, at.lower.window(self), tables))
        return
    if not at.result.is_contiguous():
        raise Unsupported("a result that is not row-major")
    count = self.spec.numel
    domain = at.over((count,))
    shift = shifts[0] % count
    source = in_order(at, self)
    place = domain.place(0) + (count - shift)
    place = (place >= count).where(place - count, place)
    domain.store_as(at.terms.lookup(source.over((0,)), place), (1,), 0)


@lowering("unfold_backward")
def unfold_backward(
    at: At, grad_in: Value, input_sizes: Any, dim: int, size: int, step: int
) -> None:
    """Each element sums the windows that show it."""
    rank = len(at.result.shape)
    if not rank:
        windows = at.over(grad_in.spec.shape)
        alone, total = windows.reduce("add", windows.read(grad_in), (0,)).kept(False)
        alone.store(total)
        return
    dim %= rank
    count = grad_in.spec.shape[dim]
    element = numpy.arange(at.result.shape[dim])[:, None]
    inner = numpy.arange(size)
    window = (element - inner) // step
    present = (window * step + inner == element) & (window >= 0) & (window < count)
    domain = at.over((*at.result.shape, size))
    strides = list(grad_in.spec.strides)
    place = domain.table(numpy.where(present, window, 0) * strides[dim], (dim, rank))
    strides[dim] = 0
    source = at.lower.window(grad_in).over(tuple(strides))
    found = at.terms.lookup(source, place)
    zero = at.terms.constant(0, found.dtype)
    row = domain.reduce("add", domain.table(present, (dim, rank)).where(found, zero), (rank,))
    kept, total = row.kept(False)
    kept.store(total)
