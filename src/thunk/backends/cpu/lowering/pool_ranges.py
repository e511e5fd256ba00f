"""Pooling over windows of any size, given or following from the result's; unpooling; columns.

Where windows lie is known now: tables say which elements each of them holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy

from thunk.backends.cpu.lowering.taps import ranges, sum_along
from thunk.backends.reference.conv_columns import fields_of
from thunk.backends.reference.pool_average import (
    Ranges,
    adaptive_bounds,
    adaptive_windows,
    average_windows,
)
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression, working
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d
from thunk.types.spec import contiguous_strides


def _divided(domain: Domain, term: Expression, divisor: Any) -> Expression:
    """Divided by one number, or by one for each of the last dimensions."""
    if not term.dtype.is_floating_point:
        raise Unsupported("averages of integers")
    if numpy.ndim(divisor) == 0:
        return term / float(divisor)
    rank = len(domain.sizes)
    loops = tuple(range(rank - numpy.ndim(divisor), rank))
    return term / domain.table(numpy.asarray(divisor).astype(term.dtype.numpy), loops)


def _store_averages(at: At, dims: int, self: Value, where: Ranges, divisor: Any) -> None:
    lead = len(self.spec.shape) - dims
    axes = [(lead + axis, ranges(*bounds)) for axis, bounds in enumerate(where)]
    domain, total = sum_along(at, at.lower.window(self), self.spec.shape, axes)
    domain.store(_divided(domain, total, divisor))


def _store_gradients(at: At, dims: int, grad: Value, where: Ranges, divisor: Any) -> None:
    """Each element sums what the windows that hold it give."""
    shape, element = grad.spec.shape, working(grad.spec.dtype)
    domain = at.over(shape)
    buffer = at.lower.temporary(element, prod(shape))
    source = Access(buffer, element, contiguous_strides(shape))
    domain.write(source, _divided(domain, domain.read(grad), divisor))
    size = at.result.shape[-dims:]
    lead = len(shape) - dims
    axes = [
        (lead + axis, ranges(*bounds).transposed(size[axis])) for axis, bounds in enumerate(where)
    ]
    domain, total = sum_along(at, source, shape, axes)
    domain.store(total)


def average(at: At, dims: int, self: Value, *geometry: Any) -> None:
    """`avg_pool`: windows of one size, those at the borders cut off."""
    size, out = self.spec.shape[-dims:], at.result.shape[-dims:]
    _store_averages(at, dims, self, *average_windows(size, out, *geometry))


def average_backward(at: At, dims: int, grad: Value, self: Value, *geometry: Any) -> None:
    """The gradient of `average`."""
    size, out = self.spec.shape[-dims:], grad.spec.shape[-dims:]
    _store_gradients(at, dims, grad, *average_windows(size, out, *geometry))


def adaptive_average(at: At, dims: int, self: Value) -> None:
    """Windows that share the picture evenly."""
    size, out = self.spec.shape[-dims:], at.result.shape[-dims:]
    _store_averages(at, dims, self, *adaptive_windows(size, out))


def whole_average(at: At, dims: int, self: Value) -> None:
    """One window that holds everything."""
    domain = at.over(self.spec.shape)
    rank = len(domain.sizes)
    over = tuple(range(rank - dims, rank))
    kept, total = domain.reduce("add", domain.read(self), over).kept(True)
    kept.store(total / float(prod(self.spec.shape[-dims:])))


def adaptive_average_backward(at: At, dims: int, grad: Value, self: Value) -> None:
    """The gradient of `adaptive_average`."""
    size, out = self.spec.shape[-dims:], grad.spec.shape[-dims:]
    _store_gradients(at, dims, grad, *adaptive_windows(size, out))


def largest(at: At, dims: int, self: Value, places: Sequence[Any]) -> None:
    """The largest element of each window and its number in the plane.

    `places[d]` lists along dimension `d` the elements of each window, (windows, elements).
    """
    lead = len(self.spec.shape) - dims
    out = tuple([each.shape[0] for each in places])
    inner = tuple([each.shape[1] for each in places])
    domain = at.over((*self.spec.shape[:lead], *out, *inner))
    planes = contiguous_strides(self.spec.shape[-dims:])
    offset: Expression = at.terms.constant(0, d.int64)
    number: Expression = at.terms.constant(0, d.int64)
    for axis, table in enumerate(places):
        index = domain.table(table.astype(numpy.int64), (lead + axis, lead + dims + axis))
        offset = offset + index * self.spec.strides[lead + axis]
        number = number + index * planes[axis]
    steps = self.spec.strides[:lead] + (0,) * (2 * dims)
    value = at.terms.lookup(at.lower.window(self).over(steps), offset)
    over = tuple(range(lead + dims, lead + 2 * dims))
    best = domain.reduce("maximum", value, over)
    here = value.eq(best.again())
    if value.dtype.is_floating_point:
        here = here | value.ne(value)
    first = domain.reduce("minimum", here.where(number, 1 << 62), over)
    kept, found = best.kept(False)
    kept.store(found, 0)
    kept.store(first.kept(False)[1], 1)


def add_where_found(at: At, dims: int, grad: Value, indices: Value) -> None:
    """Windows overlap: every gradient is added where its element came from."""
    spec = at.result
    if spec.dtype.itemsize < 4 or not spec.is_contiguous():
        raise Unsupported("sums that are rounded each time")
    at.points().store(at.terms.constant(0, spec.dtype))
    domain = at.over(grad.spec.shape)
    lead = len(grad.spec.shape) - dims
    target = Access(
        at.lower.buffer(at.node.outputs[0]), spec.dtype, spec.strides[:lead] + (0,) * dims
    )
    along = tuple(range(lead, lead + dims))
    domain.scatter(target, domain.read(indices), domain.read(grad), along, "add")


def _adaptive_places(size: int, count: int) -> Any:
    begin, end = adaptive_bounds(size, count)
    longest = int((end - begin).max(initial=0))
    return numpy.minimum(begin[:, None] + numpy.arange(longest), end[:, None] - 1)


def _unpooled(at: At, dims: int, self: Value, indices: Value) -> None:
    """Every element where its number says, zeros elsewhere."""
    spec = at.result
    plain = spec.is_contiguous()
    buffer = at.lower.buffer(at.node.outputs[0])
    if not plain:
        buffer = at.lower.temporary(spec.dtype, spec.numel)
    whole = Access(buffer, spec.dtype, contiguous_strides(spec.shape))
    at.points().write(whole, at.terms.constant(0, spec.dtype))
    domain = at.over(self.spec.shape)
    lead = len(self.spec.shape) - dims
    target = whole.over(whole.strides[:lead] + (0,) * dims)
    message = (
        f"max_unpooling{dims}d: expected indices into planes of size {spec.shape[-dims:]}; "
        "Found an invalid max index (wrong output_size?)"
    )
    place = at.within(domain.read(indices), prod(spec.shape[-dims:]), RuntimeError, message)
    domain.scatter(target, place, domain.read(self), tuple(range(lead, lead + dims)))
    if not plain:
        at.points().store(at.lower.load(whole))


def _register(dims: int) -> None:
    @lowering(f"adaptive_max_pool{dims}d")
    def adaptive_max_pool(at: At, self: Value, output_size: Any) -> None:
        sizes = zip(self.spec.shape[-dims:], at.result.shape[-dims:], strict=True)
        largest(at, dims, self, [_adaptive_places(*each) for each in sizes])

    @lowering(f"max_unpool{dims}d")
    def max_unpool(at: At, self: Value, indices: Value, *rest: Any) -> None:
        _unpooled(at, dims, self, indices)


for _dims in (2, 3):
    _register(_dims)


def _along(size: int, out: int, step: int, padding: int, gap: int, kernel: int) -> tuple[Any, Any]:
    """For each element of a window and each window: its place in the picture, whether inside."""
    place = numpy.arange(out) * step - padding + numpy.arange(kernel)[:, None] * gap
    inside = (place >= 0) & (place < size)
    return numpy.where(inside, place, 0), inside


@lowering("im2col")
def columns(at: At, self: Value, *geometry: Any) -> None:
    fields = fields_of(self.spec.shape[-2:], *geometry)
    batch, steps = _batched(self)
    channels = self.spec.shape[-3]
    domain = at.over((batch, channels, *fields.kernel, *fields.out))
    place, inside = None, None
    for axis in range(2):
        table, present = _along(
            fields.size[axis], fields.out[axis], fields.places.stride[axis],
            fields.places.padding[axis], fields.places.dilation[axis], fields.kernel[axis],
        )  # fmt: skip
        loops = (2 + axis, 4 + axis)
        step = domain.table(table * self.spec.strides[axis - 2], loops)
        held = domain.table(present, loops)
        place = step if place is None else place + step
        inside = held if inside is None else inside & held
    assert place is not None and inside is not None
    source = at.lower.window(self).over((*steps[:2], 0, 0, 0, 0))
    found = at.terms.lookup(source, place)
    term = inside.where(found, at.terms.constant(0, found.dtype))
    _check_order(at)
    domain.store_as(term, contiguous_strides(domain.sizes), 0)


def _batched(value: Value) -> tuple[int, tuple[int, ...]]:
    """How many pictures there are, and steps with a first one along them."""
    spec = value.spec
    if len(spec.shape) == 4:
        return spec.shape[0], spec.strides
    return 1, (0, *spec.strides)


def _check_order(at: At) -> None:
    if not at.result.is_contiguous():
        raise Unsupported("a result that is not row-major")


@lowering("col2im")
def from_columns(at: At, self: Value, output_size: Any, *geometry: Any) -> None:
    fields = fields_of(at.result.shape[-2:], *geometry)
    if not self.spec.is_contiguous():
        raise Unsupported("columns that are not row-major")
    batch = self.spec.shape[0] if len(self.spec.shape) == 3 else 1
    channels = at.result.shape[-3]
    cells = (batch, channels, *fields.kernel, *fields.out)
    strides = contiguous_strides(cells)
    domain = at.over((batch, channels, *fields.size, *fields.kernel))
    place, inside = None, None
    for axis in range(2):
        step, gap = fields.places.stride[axis], fields.places.dilation[axis]
        start = numpy.arange(fields.size[axis])[:, None] + fields.places.padding[axis]
        start = start - numpy.arange(fields.kernel[axis]) * gap
        window = start // step
        present = (start % step == 0) & (window >= 0) & (window < fields.out[axis])
        loops = (2 + axis, 4 + axis)
        moved = domain.table(numpy.where(present, window, 0) * strides[4 + axis], loops)
        held = domain.table(present, loops)
        place = moved if place is None else place + moved
        inside = held if inside is None else inside & held
    assert place is not None and inside is not None
    source = at.lower.window(self).over((*strides[:2], 0, 0, *strides[2:4]))
    found = at.terms.lookup(source, place)
    term = inside.where(found, at.terms.constant(0, found.dtype))
    kept, total = domain.reduce("add", term, (4, 5)).kept(False)
    _check_order(at)
    kept.store_as(total, contiguous_strides(kept.sizes), 0)
