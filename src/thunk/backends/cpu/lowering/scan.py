"""Running sums, products, extremes and recurrences: loops in which each element waits for the last.

Running sums of float32 are kept in float64, as PyTorch keeps them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from thunk.backends.cpu.lowering.index import in_order
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression, working
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d
from thunk.types.dtype import dtype
from thunk.types.spec import contiguous_strides

# (loops, what came before, the element itself at this step) -> the value so far
Step = Callable[[Domain, Expression, Callable[[Access], Expression]], Expression]


def _memory(at: At, element: dtype, sizes: tuple[int, ...]) -> Access:
    return Access(at.lower.temporary(element, prod(sizes)), element, contiguous_strides(sizes))


def run_along(
    at: At, target: Access, sizes: tuple[int, ...], dim: int, step: Step, reverse: bool = False
) -> None:
    """Replace each element of `target` along `dim` by `step` of the one before it."""
    if sizes[dim] < 2:
        return
    rest = (*sizes[:dim], sizes[dim] - 1, *sizes[dim + 1 :])
    domain = at.over(rest)
    last = sizes[dim] - 1

    def moved(access: Access, ahead: int) -> Access:
        """The access at step `ahead` (0: the one before, 1: this one) of the loops."""
        stride = access.strides[dim]
        if not reverse:
            return Access(
                access.buffer, access.element, access.strides, access.offset + ahead * stride
            )
        strides = (*access.strides[:dim], -stride, *access.strides[dim + 1 :])
        return Access(
            access.buffer, access.element, strides, access.offset + (last - ahead) * stride
        )

    # Read as memory: what the buffer was filled with no longer says what it holds.
    before = at.terms.load(moved(target, 0))
    value = step(domain, before, lambda access: at.terms.load(moved(access, 1)))
    nothing = at.terms.constant(0, d.int64)
    domain.scatter(moved(target, 1), nothing, value, (dim,))


def _wide(element: dtype) -> dtype:
    return d.float64 if element is d.float32 else working(element)


def _accumulated(
    at: At, self: Value, dim: int, step: Callable[[Expression, Expression], Expression]
) -> None:
    """The scan of the operand, converted to the result's type, in wider numbers."""
    domain = at.points()
    element = _wide(at.result.dtype)
    if element is d.bool_:
        raise Unsupported("running sums of truth")
    own = domain.read(self).to(element)
    if not domain.sizes:
        domain.store(own)
        return
    dim %= len(domain.sizes)
    target = _memory(at, element, domain.sizes)
    domain.write(target, own)
    run_along(at, target, domain.sizes, dim, lambda _, before, now: step(before, now(target)))
    domain.store(at.lower.load(target))


@lowering("cumsum")
def cumsum(at: At, self: Value, dim: int, dtype: Any) -> None:
    _accumulated(at, self, dim, lambda before, now: before + now)


@lowering("cumprod")
def cumprod(at: At, self: Value, dim: int, dtype: Any) -> None:
    _accumulated(at, self, dim, lambda before, now: before * now)


@lowering("logcumsumexp")
def logcumsumexp(at: At, self: Value, dim: int) -> None:
    at.math_known("logaddexp")
    if not self.spec.dtype.is_floating_point:
        raise Unsupported("logarithms of integers")
    _accumulated(at, self, dim, lambda before, now: before.math("logaddexp", now))


@lowering("_linear_recurrence")
def linear_recurrence(
    at: At, decay: Value, input: Value, dim: int, reverse: bool
) -> None:
    domain = at.points()
    dim %= len(domain.sizes)
    element = working(at.result.dtype)
    target, kept = (_memory(at, element, domain.sizes) for _ in range(2))
    domain.write(target, domain.read(input).to(element))
    domain.write(kept, domain.read(decay).to(element))
    run_along(
        at, target, domain.sizes, dim,
        lambda _, before, now: now(target) + now(kept) * before, reverse,
    )  # fmt: skip
    domain.store(at.lower.load(target))


def _running_extreme(at: At, self: Value, dim: int, combine: str) -> None:
    """The extreme so far and the last index that attained it; NaN stays once met."""
    domain = at.points()
    own = domain.read(self)
    if not domain.sizes:
        domain.store(own, 0)
        domain.store(at.terms.constant(0, d.int64), 1)
        return
    dim %= len(domain.sizes)
    best = _memory(at, own.dtype, domain.sizes)
    domain.write(best, own)
    run_along(
        at, best, domain.sizes, dim,
        lambda _, before, now: before.binary(combine, now(best)),
    )  # fmt: skip
    found = at.lower.load(best)
    attained = own.eq(found)
    if own.dtype.is_floating_point:
        attained = attained | own.ne(own)
    place = _memory(at, d.int64, domain.sizes)
    domain.write(place, attained.where(domain.place(dim), 0))
    run_along(
        at, place, domain.sizes, dim,
        lambda _, before, now: before.maximum(now(place)),
    )  # fmt: skip
    domain.store(found, 0)
    domain.store(at.lower.load(place), 1)


@lowering("cummax")
def cummax(at: At, self: Value, dim: int) -> None:
    _running_extreme(at, self, dim, "maximum")


@lowering("cummin")
def cummin(at: At, self: Value, dim: int) -> None:
    _running_extreme(at, self, dim, "minimum")


def _numbers_of_true(at: At, mask: Value, sizes: tuple[int, ...]) -> Access:
    """How many elements of the mask, in row-major order, are true up to each."""
    domain = at.over(sizes)
    count = prod(sizes)
    target = _memory(at, d.int64, sizes)
    domain.write(target, domain.read(mask).to(d.bool_).to(d.int64))
    flat = Access(target.buffer, d.int64, (1,))
    run_along(at, flat, (count,), 0, lambda _, before, now: before + now(flat))
    return target


@lowering("masked_scatter")
def masked_scatter(at: At, self: Value, mask: Value, source: Value) -> None:
    """The n-th true element of the mask takes the source's n-th element."""
    domain = at.points()
    place = at.lower.load(_numbers_of_true(at, mask, domain.sizes)) - 1
    chosen = domain.read(mask).to(d.bool_)
    message = "masked_scatter: expected self and source to have enough elements for the mask"
    place = at.within(chosen.where(place, 0), source.spec.numel, RuntimeError, message)
    if not source.spec.numel:
        raise Unsupported("a source without elements")
    flat = in_order(at, source).over((0,) * len(domain.sizes))
    found = at.terms.lookup(flat, place).to(at.result.dtype)
    domain.store(chosen.where(found, domain.read(self).to(at.result.dtype)))


@lowering("masked_scatter_backward")
def masked_scatter_backward(at: At, grad_output: Value, mask: Value, sizes: Any) -> None:
    """The gradients of the chosen elements, in order; those of others go to a place beyond."""
    whole = grad_output.spec.shape
    count = at.result.numel
    if not at.result.is_contiguous():
        raise Unsupported("a result that is not row-major")
    target = Access(at.lower.temporary(at.result.dtype, count + 1), at.result.dtype, (1,))
    at.over((count + 1,)).write(target, at.terms.constant(0, at.result.dtype))
    domain = at.over(whole or (1,))
    numbers = _numbers_of_true(at, mask, domain.sizes)
    chosen = domain.read(mask).to(d.bool_)
    place = at.lower.load(numbers) - 1
    place = (chosen & (place < count)).where(place, count)
    still = target.over((0,) * len(domain.sizes))
    domain.scatter(still, place, domain.read(grad_output), tuple(range(len(domain.sizes))))
    at.over((count,)).store_as(at.lower.load(target), (1,), 0)
