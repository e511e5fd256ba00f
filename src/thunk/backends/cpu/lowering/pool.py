"""Largest elements and averages of windows, and their gradients."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import prod
from typing import Any

from thunk.backends.cpu.calls.layout import Layout
from thunk.backends.cpu.lowering import pool_ranges
from thunk.backends.cpu.lowering.blocked import (
    Blocked,
    common_layout,
    give_plain,
    layout_of,
    like,
    room,
    twins_of,
)
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.ops.pool.geometry import pooling
from thunk.types import dtype as d
from thunk.types.spec import contiguous_strides

MOST_ELEMENTS = 64  # of a window that is written out


@dataclass(frozen=True, slots=True)
class Windows:
    """Where windows lie along the last dimensions of a picture."""

    size: tuple[int, ...]
    out: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def elements(self) -> list[tuple[int, ...]]:
        """The places inside a window, row-major."""
        return list(itertools.product(*[range(each) for each in self.kernel]))

    def always_inside(self, axis: int) -> bool:
        """Whether no window leaves the picture along an axis."""
        last = (self.out[axis] - 1) * self.stride[axis] - self.padding[axis]
        reach = last + (self.kernel[axis] - 1) * self.dilation[axis]
        return self.padding[axis] == 0 and reach < self.size[axis]

    def apart(self) -> bool:
        """Whether windows tile the picture: no element is in two, and none is left over."""
        return all(
            size == count * kernel and step == kernel and pad == 0 and gap == 1
            for size, count, kernel, step, pad, gap in zip(
                self.size, self.out, self.kernel, self.stride, self.padding, self.dilation,
                strict=True,
            )
        )  # fmt: skip


def _windows(
    dims: int, picture: Value, result: tuple[int, ...], kernel: Any, stride: Any, padding: Any,
    dilation: Any, ceil_mode: bool,
) -> Windows:  # fmt: skip
    found = pooling(dims, kernel, stride, padding, dilation, ceil_mode)
    windows = Windows(
        picture.spec.shape[-dims:], result[-dims:], tuple(found.kernel), tuple(found.stride),
        tuple(found.padding), tuple(found.dilation),
    )  # fmt: skip
    if prod(windows.kernel) > MOST_ELEMENTS or 0 in result or 0 in picture.spec.shape:
        raise Unsupported("large windows, or none")
    return windows


class _Picture:
    """A picture as windows look at it, in the loops of their results."""

    def __init__(self, domain: Domain, value: Value, layout: Layout | None, dims: int) -> None:
        self.domain = domain
        spec = value.spec
        self.spatial = range(len(spec.shape) - dims, len(spec.shape))
        if layout is None:
            self.access = Access(
                domain.lower.buffer(value), spec.dtype, spec.strides, spec.offset
            )
        else:
            assert layout.strides is not None
            buffer = twins_of(domain.at, value)[layout]
            self.access = Access(buffer, spec.dtype, (*layout.strides, 1))

    def element(
        self, windows: Windows, inside: tuple[int, ...], other: Expression
    ) -> tuple[Expression, Expression | None]:
        """One element of every window, and where it lies in the picture at all."""
        domain, strides, offset = self.domain, list(self.access.strides), self.access.offset
        holds: Expression | None = None
        for axis, loop in enumerate(self.spatial):
            shift = inside[axis] * windows.dilation[axis] - windows.padding[axis]
            offset += shift * strides[loop]
            strides[loop] *= windows.stride[axis]
            if not windows.always_inside(axis):
                place = domain.place(loop) * windows.stride[axis] + shift
                known = (place >= 0) & (place < windows.size[axis])
                holds = known if holds is None else holds & known
        access = Access(self.access.buffer, self.access.element, tuple(strides), offset)
        if holds is None:
            return domain.terms.load(access), None
        return domain.terms.guarded(access, holds, other), holds

    def number(self, windows: Windows, inside: tuple[int, ...]) -> Expression:
        """The row-major number of the element in its plane."""
        strides, offset = [0] * len(self.domain.sizes), 0
        step = 1
        for axis in reversed(range(len(windows.size))):
            shift = inside[axis] * windows.dilation[axis] - windows.padding[axis]
            strides[self.spatial[axis]] = windows.stride[axis] * step
            offset += shift * step
            step *= windows.size[axis]
        return self.domain.terms.place(tuple(strides), offset)


def _result_loops(at: At, picture: Value, dims: int) -> tuple[Domain, Layout | None]:
    """Loops over the first result, in the picture's layout if it has one of its own."""
    layout = common_layout(at, [picture])
    shape = at.result.shape
    if layout is None or len(shape) != dims + 2:
        return at.points(), None
    return Blocked(at, shape, like(layout, shape)), layout


def _largest(at: At, dims: int, self: Value, *geometry: Any) -> None:
    windows = _windows(dims, self, at.result.shape, *geometry)
    domain, layout = _result_loops(at, self, dims)
    picture = _Picture(domain, self, layout, dims)
    element = domain.read_as(self, (0,) * len(domain.sizes)).dtype
    low = _lowest(element)
    other = at.terms.constant(low, element)
    best: Expression | None = None
    where: Expression | None = None
    for inside in windows.elements:
        value, holds = picture.element(windows, inside, other)
        number = picture.number(windows, inside)
        if best is None or where is None:
            best, where = value, number
            first = holds
            continue
        better = value > best
        if element.is_floating_point:
            better = better | value.ne(value)
        if first is not None and holds is not None:
            # A window that began outside takes the first element that is inside, whatever it is.
            better = (better | where_outside(first, best, low)) & holds
        best, where = better.where(value, best), better.where(number, where)
    assert best is not None and where is not None
    domain.store(best, 0)
    _store_numbers(at, domain, where)


def where_outside(first: Expression, best: Expression, low: float) -> Expression:
    """Whether nothing of the window was found yet."""
    return ~first & best.eq(low)


def _store_numbers(at: At, domain: Domain, where: Expression) -> None:
    """Indices stay in plain memory, at the loops' points."""
    value = at.node.outputs[1]
    access = Domain.window(at.over(value.spec.shape), value)
    if isinstance(domain, Blocked):
        layout = domain.layout
        numbers = Layout(layout.shape, d.int64, layout.strides, layout.blocks, layout.padded)
        buffer = at.lower.temporary(d.int64, prod(layout.shape))
        twins_of(at, value)[numbers] = buffer
        assert layout.strides is not None
        domain.write(Access(buffer, d.int64, (*layout.strides, 1)), where)
        access = domain.window(value)
    domain.write(access, where)


def _lowest(element: Any) -> Any:
    if element.is_floating_point:
        return float("-inf")
    return -(1 << (8 * element.itemsize - 1)) if element.is_signed else 0


def _largest_backward(at: At, dims: int, grad: Value, self: Value, *rest: Any) -> None:
    *geometry, indices = rest
    windows = _windows(dims, self, grad.spec.shape, *geometry)
    if windows.apart():
        _tiled_backward(at, dims, grad, self, windows, indices)
    else:
        pool_ranges.add_where_found(at, dims, grad, indices)


def _tiled_backward(
    at: At, dims: int, grad: Value, self: Value, windows: Windows, indices: Value
) -> None:
    """Every element is in one window: it has that window's gradient, or none."""
    layout = common_layout(at, [self])
    whole = layout if layout is not None and len(self.spec.shape) == dims + 2 else None
    out = grad.spec.shape
    lead = len(out) - dims
    outer, block = out[:lead], 0
    if whole is not None:
        block = whole.blocks[0][1]
        outer = (out[0], out[1] // block)
    domain = at.over(_tiles(outer, windows) + ((block,) if block else ()))
    strides = _tile_strides(lead, windows, block)
    small = None if whole is None else like(whole, out)

    def read(value: Value) -> Expression:
        for each, buffer in at.lower.twins.get(value, {}).items():
            if small is not None and (each.strides, each.blocks) == (small.strides, small.blocks):
                assert each.strides is not None
                axes = (*each.strides, 1)
                return at.lower.load(Access(buffer, value.spec.dtype, strides(axes, False)))
        spec = value.spec
        access = Access(
            at.lower.buffer(value), spec.dtype, strides(_blocked(spec.strides, block), False),
            spec.offset,
        )  # fmt: skip
        return at.lower.load(access)

    plane = (0,) * lead + contiguous_strides(windows.size) + ((0,) if block else ())
    number = at.terms.place(strides(plane, True))
    term = read(indices).eq(number).where(read(grad), 0)
    _write_tiles(at, domain, term, strides, whole)


def _blocked(strides: tuple[int, ...], block: int) -> tuple[int, ...]:
    """Steps along a plain tensor's dimensions, its channels cut in blocks."""
    if not block:
        return strides
    return (strides[0], strides[1] * block, *strides[2:], strides[1])


def _tiles(outer: tuple[int, ...], windows: Windows) -> tuple[int, ...]:
    """Loops over windows and what is inside them, dimension by dimension."""
    sizes = list(outer)
    for count, kernel in zip(windows.out, windows.kernel, strict=True):
        sizes += [count, kernel]
    return tuple(sizes)


def _tile_strides(lead: int, windows: Windows, block: int) -> Any:
    """Steps along tiles' loops from steps along a picture's (or windows') dimensions."""

    def strides(axes: tuple[int, ...], picture: bool) -> tuple[int, ...]:
        found = list(axes[:lead])
        for axis, kernel in enumerate(windows.kernel):
            step = axes[lead + axis]
            found += [step * kernel, step] if picture else [step, 0]
        return (*found, axes[-1]) if block else tuple(found)

    return strides


def _write_tiles(
    at: At, domain: Domain, term: Expression, strides: Any, layout: Layout | None
) -> None:
    value = at.node.outputs[0]
    if layout is None:
        spec = value.spec
        target = Access(at.lower.buffer(value), spec.dtype, strides(spec.strides, True))
        domain.write(target, term)
        return


    buffer = room(at, layout)
    twins_of(at, value)[layout] = buffer
    assert layout.strides is not None
    domain.write(Access(buffer, layout.dtype, strides((*layout.strides, 1), True)), term)
    give_plain(at, value, layout, layout_of(value.spec))


def _is_large(kernel: Any, dims: int) -> bool:
    """Whether a window has too many elements to write each of them out."""
    elements: int = prod(kernel) ** (dims // len(kernel))
    return elements > MOST_ELEMENTS


def _average(
    at: At, dims: int, self: Value, kernel: Any, stride: Any, padding: Any, ceil_mode: bool,
    include_pad: bool, override: Any,
) -> None:  # fmt: skip
    if ceil_mode or _is_large(kernel, dims):
        pool_ranges.average(
            at, dims, self, kernel, stride, padding, ceil_mode, include_pad, override
        )
        return
    windows = _windows(dims, self, at.result.shape, kernel, stride, padding, (1,), ceil_mode)
    if not self.spec.dtype.is_floating_point:
        raise Unsupported("averages of integers")
    domain, layout = _result_loops(at, self, dims)
    picture = _Picture(domain, self, layout, dims)
    total: Expression | None = None
    count: Expression | None = None
    element = domain.read_as(self, (0,) * len(domain.sizes)).dtype
    zero, one = at.terms.constant(0, element), at.terms.constant(1, element)
    for inside in windows.elements:
        value, holds = picture.element(windows, inside, zero)
        total = value if total is None else total + value
        present = one if holds is None else holds.where(one, zero)
        count = present if count is None else count + present
    assert total is not None and count is not None
    if override is not None:
        domain.store(total / float(override))
    elif include_pad:
        domain.store(total / float(prod(windows.kernel)))
    else:
        domain.store(total / count)


def _average_backward(
    at: At, dims: int, grad: Value, self: Value, kernel: Any, stride: Any, padding: Any,
    ceil_mode: bool, include_pad: bool, override: Any,
) -> None:  # fmt: skip
    large = _is_large(kernel, dims)
    found = None if large else _windows(
        dims, self, grad.spec.shape, kernel, stride, padding, (1,), ceil_mode
    )  # fmt: skip
    if found is None or not found.apart():
        pool_ranges.average_backward(
            at, dims, grad, self, kernel, stride, padding, ceil_mode, include_pad, override
        )
        return
    windows = found
    lead = len(grad.spec.shape) - dims
    domain = at.over(_tiles(grad.spec.shape[:lead], windows))
    strides = _tile_strides(lead, windows, 0)
    divisor = float(prod(windows.kernel) if override is None else override)
    term = domain.read_as(grad, strides(grad.spec.strides, False)) / divisor
    _write_tiles(at, domain, term, strides, None)


def _adaptive(size: tuple[int, ...], out: tuple[int, ...]) -> tuple[int, ...] | None:
    """The one window that every result has, if it is the same everywhere."""
    if any(count == 0 or whole % count for whole, count in zip(size, out, strict=True)):
        return None
    return tuple([whole // count for whole, count in zip(size, out, strict=True)])


def _register(dims: int) -> None:
    @lowering(f"max_pool{dims}d_with_indices")
    def max_pool(at: At, self: Value, *geometry: Any) -> None:
        _largest(at, dims, self, *geometry)

    @lowering(f"max_pool{dims}d_with_indices_backward")
    def max_pool_backward(at: At, grad_output: Value, self: Value, *rest: Any) -> None:
        _largest_backward(at, dims, grad_output, self, *rest)

    @lowering(f"adaptive_max_pool{dims}d_backward", f"fractional_max_pool{dims}d_backward")
    def largest_backward(at: At, grad_output: Value, self: Value, *rest: Any) -> None:
        pool_ranges.add_where_found(at, dims, grad_output, rest[-1])

    @lowering(f"avg_pool{dims}d")
    def avg_pool(at: At, self: Value, *geometry: Any) -> None:
        _average(at, dims, self, *geometry)

    @lowering(f"avg_pool{dims}d_backward")
    def avg_pool_backward(at: At, grad_output: Value, self: Value, *geometry: Any) -> None:
        _average_backward(at, dims, grad_output, self, *geometry)

    @lowering(f"adaptive_avg_pool{dims}d")
    def adaptive_avg_pool(at: At, self: Value, output_size: Any) -> None:
        kernel = _adaptive(self.spec.shape[-dims:], at.result.shape[-dims:])
        if kernel is not None and prod(kernel) <= MOST_ELEMENTS:
            _average(at, dims, self, kernel, kernel, (0,) * dims, False, True, None)
        elif all(size == 1 for size in at.result.shape[-dims:]):
            pool_ranges.whole_average(at, dims, self)
        else:
            pool_ranges.adaptive_average(at, dims, self)

    @lowering(f"_adaptive_avg_pool{dims}d_backward")
    def adaptive_avg_pool_backward(at: At, grad_output: Value, self: Value) -> None:
        size, out = self.spec.shape[-dims:], grad_output.spec.shape[-dims:]
        kernel = _adaptive(size, out)
        if kernel is None:
            pool_ranges.adaptive_average_backward(at, dims, grad_output, self)
            return
        windows = Windows(size, out, kernel, kernel, (0,) * dims, (1,) * dims)
        lead = len(self.spec.shape) - dims
        domain = at.over(_tiles(grad_output.spec.shape[:lead], windows))
        strides = _tile_strides(lead, windows, 0)
        read = domain.read_as(grad_output, strides(grad_output.spec.strides, False))
        _write_tiles(at, domain, read / float(prod(kernel)), strides, None)


for _dims in (2, 3):
    _register(_dims)
