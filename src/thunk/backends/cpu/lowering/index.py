"""Look-ups by tensors of indices, and everything that scatters."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.compiler.access import Access
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Scalar, Value
from thunk.types import dtype as d
from thunk.types.spec import contiguous_strides

OUT_OF_SELF = "index out of range in self"


def _lookup(
    domain: Domain, source: Value, strides: tuple[int, ...], place: Expression
) -> Expression:
    """The element of `source` at `place` elements from where its loops stand."""
    spec = source.spec
    access = Access(domain.lower.buffer(source), spec.dtype, strides, spec.offset)
    return domain.terms.lookup(access, place)


@lowering("embedding")
def embedding(
    at: At, weight: Value, indices: Value, padding_idx: int, scale_grad_by_freq: bool,
    sparse: bool,
) -> None:  # fmt: skip
    domain = at.points()
    rank = len(domain.sizes)
    rows, stride = weight.spec.shape[0], weight.spec.strides[0]
    index = domain.read_along(indices, range(rank - 1)).to(d.int64)
    message = f"embedding: {OUT_OF_SELF}; expected indices from 0 to {rows - 1}"
    place = at.within(index, rows, IndexError, message) * stride
    along = (0,) * (rank - 1) + (weight.spec.strides[1],)
    domain.store(_lookup(domain, weight, along, place))


def along(value: Value, dim: int) -> tuple[int, int]:
    """Size and step of a dimension; a scalar has one of size 1."""
    spec = value.spec
    return (spec.shape[dim], spec.strides[dim]) if spec.shape else (1, 0)


def in_order(at: At, value: Value) -> Access:
    """A tensor's elements one after another in row-major order, copied if they are not so."""
    spec = value.spec
    if spec.is_contiguous():
        return Access(at.lower.buffer(value), spec.dtype, (1,), spec.offset)
    domain = at.over(spec.shape)
    memory = at.lower.temporary(spec.dtype, spec.numel)
    strides = contiguous_strides(spec.shape)
    domain.write(Access(memory, spec.dtype, strides), domain.read(value))
    return Access(memory, spec.dtype, (1,))


def line(domain: Domain, index: Value, dim: int) -> Expression:
    """An index of one dimension, or a scalar, read along the loop `dim`."""
    step = index.spec.strides[0] if index.spec.shape else 0
    strides = tuple([step if loop == dim else 0 for loop in range(len(domain.sizes))])
    return domain.read_as(index, strides).to(d.int64)


def without(strides: tuple[int, ...], dim: int) -> tuple[int, ...]:
    """The steps of loops that stand still along `dim`."""
    return tuple([0 if loop == dim else step for loop, step in enumerate(strides)])


@lowering("index_select")
def index_select(at: At, self: Value, dim: int, index: Value) -> None:
    domain = at.points()
    rank = len(domain.sizes)
    dim = dim % rank if rank else 0
    size, step = along(self, dim)
    which = line(domain, index, dim)
    message = f"index_select: {OUT_OF_SELF}: expected 0 to {size - 1}"
    place = at.within(which, size, IndexError, message) * step
    domain.store(_lookup(domain, self, without(self.spec.strides, dim), place))


@lowering("gather")
def gather(at: At, self: Value, dim: int, index: Value, sparse_grad: bool) -> None:
    domain = at.points()
    rank = len(domain.sizes)
    dim = dim % rank if rank else 0
    size, step = along(self, dim)
    place = _inside(at, domain.read(index).to(d.int64), size, dim) * step
    strides = self.spec.strides or (0,) * rank
    domain.store(_lookup(domain, self, without(strides, dim), place))


def _inside(at: At, which: Expression, size: int, dim: int) -> Expression:
    message = (
        f"{at.node.op.name}: index out of bounds for dimension {dim} with size {size}; "
        f"expected 0 to {size - 1}"
    )
    return at.within(which, size, RuntimeError, message)


def indexed_place(
    at: At, domain: Domain, indices: Any, shape: tuple[int, ...], strides: tuple[int, ...],
    common: tuple[int, ...],
) -> tuple[Expression, tuple[int, ...], tuple[int, ...]]:  # fmt: skip
    """Where indices lead in a tensor; the steps of the loops over what is not indexed; the
    loops over the indices' common shape, which take the place of indexed dimensions."""
    chosen = [dim for dim, each in enumerate(indices) if each is not None]
    rank, wide = len(domain.sizes), len(common)
    adjacent = chosen == list(range(chosen[0], chosen[-1] + 1))
    start = chosen[0] if adjacent else 0
    place: Expression = domain.terms.constant(0, d.int64)
    for dim in chosen:
        spec = indices[dim].spec
        if spec.dtype not in (d.int64, d.int32, d.uint8, d.int8, d.int16):
            raise Unsupported("indices of another type")
        steps = [0] * rank
        lead = start + wide - len(spec.shape)
        for position, (size, stride) in enumerate(zip(spec.shape, spec.strides, strict=True)):
            steps[lead + position] = 0 if size == 1 else stride
        which = domain.read_as(indices[dim], tuple(steps)).to(d.int64)
        which = (which < 0).where(which + shape[dim], which)
        message = f"index is out of bounds for dimension {dim} with size {shape[dim]}"
        place = place + at.within(which, shape[dim], IndexError, message) * strides[dim]
    rest = [dim for dim in range(len(shape)) if dim not in chosen]
    still = [0] * rank
    for loop, dim in zip([*range(start), *range(start + wide, rank)], rest, strict=True):
        still[loop] = strides[dim]
    return place, tuple(still), tuple(range(start, start + wide))


@lowering("_index")
def index(at: At, self: Value, indices: Any) -> None:
    """Indexed dimensions give way to the indices' common shape."""
    chosen = [each for each in indices if each is not None]
    if not chosen or any(each.spec.dtype is d.bool_ for each in chosen):
        raise Unsupported("masks")
    common = numpy.broadcast_shapes(*[each.spec.shape for each in chosen])
    domain = at.points()
    place, still, _ = indexed_place(
        at, domain, indices, self.spec.shape, self.spec.strides, common
    )
    domain.store(_lookup(domain, self, still, place))


@lowering("take")
def take(at: At, self: Value, index: Value) -> None:
    domain = at.points()
    which = domain.read(index).to(d.int64)
    size = self.spec.numel
    which = (which < 0).where(which + size, which)
    message = f"take: out of range: tried to access an index on a tensor of {size} elements."
    place = at.within(which, size, IndexError, message)
    still = in_order(at, self).over((0,) * len(domain.sizes))
    domain.store(at.terms.lookup(still, place))


def _copied(at: At, self: Value) -> tuple[Domain, Access]:
    """The result as a copy of `self`, to be written over."""
    domain = at.points()
    domain.store(domain.read(self))
    spec = at.result
    return domain, Access(at.lower.buffer(at.node.outputs[0]), spec.dtype, spec.strides)


def _step(target: Access, dim: int) -> int:
    """The result's own step, whatever the operand's; a scalar has none."""
    return target.strides[dim] if target.strides else 0


def _scattered(at: At, self: Value, dim: int, index: Value, source: Any, combine: str) -> None:
    if combine and at.result.dtype.itemsize < 4:
        raise Unsupported("sums that are rounded each time")
    _, target = _copied(at, self)
    domain = at.over(index.spec.shape or (1,))
    dim %= len(domain.sizes)
    size, _ = along(self, dim)
    place = _inside(at, domain.read(index).to(d.int64), size, dim) * _step(target, dim)
    steps = without(target.strides or (0,), dim)
    if isinstance(source, Value):
        strides = source.spec.strides if source.spec.shape else (0,) * len(domain.sizes)
        term = domain.read_as(source, strides)
    else:
        term = domain.number(source, at.result.dtype)
    domain.scatter(target.over(steps), place, term.to(at.result.dtype), (dim,), combine)


@lowering("scatter.src")
def scatter_src(at: At, self: Value, dim: int, index: Value, src: Value) -> None:
    _scattered(at, self, dim, index, src, "")


@lowering("scatter.value")
def scatter_value(at: At, self: Value, dim: int, index: Value, value: Any) -> None:
    _scattered(at, self, dim, index, value, "")


@lowering("scatter_add")
def scatter_add(at: At, self: Value, dim: int, index: Value, src: Value) -> None:
    if at.result.dtype is d.bool_:
        raise Unsupported("sums of bool")
    _scattered(at, self, dim, index, src, "add")


def _slices(at: At, self: Value, dim: int, index: Value, source: Value, combine: str) -> None:
    """Whole slices of `source` along `dim`, each to the place that `index` names."""
    if combine and at.result.dtype.itemsize < 4:
        raise Unsupported("sums that are rounded each time")
    _, target = _copied(at, self)
    domain = at.over(source.spec.shape or (1,))
    dim %= len(domain.sizes)
    which = line(domain, index, dim)
    kind = RuntimeError if combine and len(self.spec.shape) > 1 else IndexError
    size, _ = along(self, dim)
    message = f"{at.node.op.name}: index out of range; expected 0 to {size - 1}"
    place = at.within(which, size, kind, message) * _step(target, dim)
    steps = without(target.strides or (0,), dim)
    term = domain.read(source).to(at.result.dtype)
    if combine:
        alpha = at.node.args[4]
        if isinstance(alpha, Scalar) or alpha != 1:
            term = term * domain.number(alpha, at.result.dtype)
    domain.scatter(target.over(steps), place, term, (dim,), combine)


@lowering("index_add")
def index_add(at: At, self: Value, dim: int, index: Value, source: Value, alpha: Any) -> None:
    if at.result.dtype is d.bool_:
        raise Unsupported("sums of bool")
    _slices(at, self, dim, index, source, "add")


@lowering("index_copy")
def index_copy(at: At, self: Value, dim: int, index: Value, source: Value) -> None:
    _slices(at, self, dim, index, source, "")


@lowering("embedding_dense_backward")
def embedding_backward(
    at: At, grad_output: Value, indices: Value, num_weights: int, padding_idx: int,
    scale_grad_by_freq: bool,
) -> None:  # fmt: skip
    if scale_grad_by_freq or at.result.dtype.itemsize < 4:
        raise Unsupported("gradients by frequency, or rounded at each addition")
    whole = at.points()
    whole.store(at.terms.constant(0, at.result.dtype))
    domain = at.over(grad_output.spec.shape)
    rank = len(domain.sizes)
    which = domain.read_along(indices, range(rank - 1)).to(d.int64)
    term = domain.read(grad_output)
    if padding_idx >= 0:
        term = which.eq(padding_idx).where(0, term)
    message = f"embedding_dense_backward: {OUT_OF_SELF}"
    spec = at.result
    place = at.within(which, num_weights, IndexError, message) * spec.strides[0]
    along = (0,) * (rank - 1) + (spec.strides[1],)
    target = Access(at.lower.buffer(at.node.outputs[0]), spec.dtype, along)
    domain.scatter(target, place, term, tuple(range(rank - 1)), "add")


def _fill_slices(at: At, self: Value, dim: int, index: Value, value: Any) -> None:
    """Copied, then one number written along whole slices."""
    _, target = _copied(at, self)
    rank = max(len(self.spec.shape), 1)
    dim %= rank
    size, _ = along(self, dim)
    sizes = list(self.spec.shape or (1,))
    sizes[dim] = index.spec.numel
    domain = at.over(sizes)
    which = line(domain, index, dim)
    which = (which < 0).where(which + size, which)
    message = f"index_fill: index out of range; expected {-size} to {size - 1}"
    place = at.within(which, size, IndexError, message) * _step(target, dim)
    term = domain.operand(value, at.result.dtype)
    domain.scatter(
        target.over(without(target.strides or (0,), dim)), place, term, (dim,)
    )


@lowering("index_fill.int_Scalar")
def index_fill_scalar(at: At, self: Value, dim: int, index: Value, value: Any) -> None:
    _fill_slices(at, self, dim, index, value)


@lowering("index_fill.int_Tensor")
def index_fill_tensor(at: At, self: Value, dim: int, index: Value, value: Value) -> None:
    _fill_slices(at, self, dim, index, value)
