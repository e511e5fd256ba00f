"""Writes at computed places that reduce: scatter_reduce, index_reduce, index_put, put."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from thunk.backends.cpu.lowering.index import along, in_order, indexed_place, line, without
from thunk.compiler.access import Access, Buffer
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d
from thunk.types.dtype import dtype
from thunk.types.spec import contiguous_strides

_COMBINE = {"sum": "add", "mean": "add", "add": "add", "prod": "mul", "multiply": "mul",
            "amax": "maximum", "amin": "minimum"}  # fmt: skip


def _identity(reduce: str, element: dtype) -> Any:
    """What a reduction of nothing is."""
    if _COMBINE[reduce] in ("add", "mul"):
        return 0 if _COMBINE[reduce] == "add" else 1
    if element.is_floating_point:
        return -math.inf if reduce == "amax" else math.inf
    limits = numpy.iinfo(element.numpy)
    return int(limits.min if reduce == "amax" else limits.max)


class Reduced:
    """A copy of `self` into which elements are reduced at places along one dimension."""

    def __init__(self, at: At, self_value: Value, dim: int, reduce: str) -> None:
        spec = at.result
        if spec.dtype.itemsize < 4 and spec.dtype.is_floating_point:
            raise Unsupported("results that are rounded each time")
        if spec.dtype is d.bool_ or (reduce == "mean" and not spec.dtype.is_floating_point):
            raise Unsupported("a mean of integers, or anything of truth")
        self.at = at
        self.reduce = reduce
        self.dim = dim % max(len(spec.shape), 1)
        self.size, _ = along(self_value, self.dim)
        strides, buffer = spec.strides, at.lower.buffer(at.node.outputs[0])
        if reduce == "mean":  # sums that are divided in the end
            strides, buffer = self._room(spec.dtype)
        whole = at.points()
        whole.write(Access(buffer, spec.dtype, strides), whole.read(self_value))
        self.target = Access(buffer, spec.dtype, strides or (0,))

    def _room(self, element: dtype) -> tuple[tuple[int, ...], Buffer]:
        """Memory for an element of another type at each place of the result."""
        spec = self.at.result
        return contiguous_strides(spec.shape), self.at.lower.temporary(element, spec.numel)

    def _still(self, target: Access) -> tuple[Access, int]:
        step = target.strides[self.dim] if self.at.result.shape else 0
        return target.over(without(target.strides, self.dim)), step

    def run(self, domain: Domain, which: Expression, term: Expression, include_self: bool) -> None:
        """Reduce `term` at the indices `which`; a mean is divided by how many there were."""
        at, element = self.at, self.at.result.dtype
        still, step = self._still(self.target)
        place = which * step
        if not include_self:
            nothing = at.terms.constant(_identity(self.reduce, element), element)
            domain.scatter(still, place, nothing, (self.dim,))
        domain.scatter(still, place, term.to(element), (self.dim,), _COMBINE[self.reduce])
        if self.reduce == "mean":
            self._divide(domain, which, include_self)

    def _divide(self, domain: Domain, which: Expression, include_self: bool) -> None:
        at, spec = self.at, self.at.result
        strides, buffer = self._room(d.int64)
        counts = Access(buffer, d.int64, strides)
        whole = at.points()
        whole.write(counts, at.terms.constant(int(include_self), d.int64))
        still, step = self._still(Access(buffer, d.int64, strides or (0,)))
        domain.scatter(still, which * step, at.terms.constant(1, d.int64), (self.dim,), "add")
        count = at.terms.load(counts).maximum(1)
        total = at.terms.load(Access(self.target.buffer, spec.dtype, strides))
        whole.store(total / count.to(spec.dtype))


def _inside(at: At, which: Expression, size: int) -> Expression:
    message = f"{at.node.op.name}: index out of bounds; expected 0 to {size - 1}"
    return at.within(which, size, RuntimeError, message)


def _scatter(
    at: At, self: Value, dim: int, index: Value, src: Any, reduce: str, include_self: bool
) -> None:
    reduced = Reduced(at, self, dim, reduce)
    domain = at.over(index.spec.shape or (1,))
    which = _inside(at, domain.read(index).to(d.int64), reduced.size)
    if isinstance(src, Value):
        strides = src.spec.strides if src.spec.shape else (0,) * len(domain.sizes)
        term = domain.read_as(src, strides)
    else:
        term = domain.number(src, at.result.dtype)
    reduced.run(domain, which, term, include_self)


@lowering("scatter_reduce.two")
def scatter_reduce(
    at: At, self: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool
) -> None:
    _scatter(at, self, dim, index, src, reduce, include_self)


@lowering("scatter.reduce", "scatter.value_reduce")
def scatter(at: At, self: Value, dim: int, index: Value, src: Any, reduce: str) -> None:
    _scatter(at, self, dim, index, src, reduce, True)


@lowering("index_reduce")
def index_reduce(
    at: At, self: Value, dim: int, index: Value, source: Value, reduce: str, include_self: bool
) -> None:
    reduced = Reduced(at, self, dim, reduce)
    domain = at.over(source.spec.shape or (1,))
    which = _inside(at, line(domain, index, reduced.dim), reduced.size)
    reduced.run(domain, which, domain.read(source), include_self)


def _copied(at: At, self: Value) -> Access:
    whole = at.points()
    whole.store(whole.read(self))
    return Access(at.lower.buffer(at.node.outputs[0]), at.result.dtype, at.result.strides)


def _check_sum(at: At, accumulate: bool) -> None:
    element = at.result.dtype
    if accumulate and ((element.itemsize < 4 and element.is_floating_point) or element is d.bool_):
        raise Unsupported("sums that are rounded each time")


@lowering("put")
def put(at: At, self: Value, index: Value, source: Value, accumulate: bool) -> None:
    """Elements at row-major numbers."""
    _check_sum(at, accumulate)
    size = self.spec.numel
    if not at.result.is_contiguous():
        raise Unsupported("a result that is not row-major")
    target = _copied(at, self)
    domain = at.over((index.spec.numel,))
    which = at.lower.load(in_order(at, index)).to(d.int64)
    which = (which < 0).where(which + size, which)
    message = f"put_: out of range: tried to access an index on a tensor of {size} elements"
    place = at.within(which, size, IndexError, message)
    term = at.lower.load(in_order(at, source)).to(at.result.dtype)
    domain.scatter(target.over((0,)), place, term, (0,), "add" if accumulate else "")


@lowering("_index_put")
def index_put(at: At, self: Value, indices: Any, values: Value, accumulate: bool) -> None:
    _check_sum(at, accumulate)
    chosen = [each for each in indices if each is not None]
    if not chosen or any(each.spec.dtype is d.bool_ for each in chosen):
        raise Unsupported("masks")
    target = _copied(at, self)
    common = numpy.broadcast_shapes(*[each.spec.shape for each in chosen])
    sizes = _window_sizes(self.spec.shape, indices, common)
    domain = at.over(sizes)
    place, steps, loops = indexed_place(
        at, domain, indices, at.result.shape, target.strides, common
    )
    extra = len(values.spec.shape) - len(sizes)
    if extra > 0 and any(size != 1 for size in values.spec.shape[:extra]):
        raise Unsupported("values of more dimensions")
    strides = _broadcast(values.spec.shape, values.spec.strides, sizes)
    term = domain.read_as(values, strides).to(at.result.dtype)
    domain.scatter(target.over(steps), place, term, loops, "add" if accumulate else "")


def _broadcast(
    shape: Sequence[int], strides: Sequence[int], sizes: Sequence[int]
) -> tuple[int, ...]:
    """Steps along loops of `sizes`, the last dimensions of `shape` first, as NumPy broadcasts."""
    found = [0] * len(sizes)
    for back in range(1, min(len(shape), len(sizes)) + 1):
        found[-back] = 0 if shape[-back] == 1 else strides[-back]
    return tuple(found)


def _window_sizes(
    shape: Sequence[int], indices: Sequence[Any], common: tuple[int, ...]
) -> tuple[int, ...]:
    """The shape that indexing gives."""
    dims = [dim for dim, each in enumerate(indices) if each is not None]
    adjacent = dims == list(range(dims[0], dims[-1] + 1))
    rest = [size for dim, size in enumerate(shape) if dim not in dims]
    start = dims[0] if adjacent else 0
    return (*rest[:start], *common, *rest[start:])


@lowering("histc")
def histc(at: At, self: Value, bins: int, min: Any, max: Any) -> None:
    """Without a range it is the data's; without a width, one on either side."""
    count, element = self.spec.numel, self.spec.dtype
    if element not in (d.float32, d.float64) or not count:
        raise Unsupported("numbers of other types, or none")
    domain = at.over((count,))
    value = at.terms.load(in_order(at, self))
    first: Any = domain.number(min, element)
    last: Any = domain.number(max, element)
    if float(min) == float(max):
        first = domain.reduce("minimum", value, (0,)).again()
        last = domain.reduce("maximum", value, (0,)).again()
    narrow = first.eq(last)
    first, last = narrow.where(first - 1, first), narrow.where(last + 1, last)
    message = "histc: expected a finite range, got another; pass min and max"
    width = last - first
    code = at.lower.failure(RuntimeError, message)
    value = at.terms.check((width < math.inf) & first.eq(first), value, code)
    inside = (value >= first) & (value <= last)
    place = ((value - first) * float(bins) / width).to(d.int64).minimum(bins - 1)
    spec = at.result
    at.points().store(at.terms.constant(0, spec.dtype))
    target = Access(at.lower.buffer(at.node.outputs[0]), spec.dtype, (0,))
    term = inside.to(spec.dtype)
    domain.scatter(target, inside.where(place, 0) * spec.strides[0], term, (0,), "add")
