"""Losses that are no plain arithmetic, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.backends.cpu.lowering.reduction import count_of
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression, working
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d

NONE, MEAN, SUM = range(3)


def reduced(domain: Domain, loss: Expression, reduction: int) -> None:
    """Store the losses, their mean or their sum."""
    if reduction == NONE:
        domain.store(loss)
        return
    every = tuple(range(len(domain.sizes)))
    kept, total = domain.reduce("add", loss, every).kept(False)
    kept.store(total / float(count_of(domain, every)) if reduction == MEAN else total)


def _broadcast(self: Value, *others: Any) -> tuple[int, ...]:
    shape = self.spec.shape
    for each in others:
        if each is not None and each.spec.shape not in (shape, ()):
            raise Unsupported("losses that broadcast")
    return shape


def _pairwise(name: str, function: Callable[..., Expression]) -> None:
    @lowering(name)
    def lower(at: At, self: Value, target: Value, reduction: int, *numbers: Any) -> None:
        domain = at.over(_broadcast(self, target))
        element = at.result.dtype
        first, second = domain.operand(self, element), domain.operand(target, element)
        terms = [domain.number(each, first.dtype) for each in numbers]
        reduced(domain, function(at, first, second, *terms), reduction)


def _smooth(at: At, left: Expression, right: Expression, beta: Expression) -> Expression:
    gap = (left - right).unary("abs")
    return (gap < beta).where(0.5 * gap * gap / beta, gap - 0.5 * beta)


def _huber(at: At, left: Expression, right: Expression, delta: Expression) -> Expression:
    gap = (left - right).unary("abs")
    return (gap <= delta).where(0.5 * gap * gap, delta * (gap - 0.5 * delta))


_pairwise("smooth_l1_loss", _smooth)
_pairwise("huber_loss", _huber)


@lowering("binary_cross_entropy_with_logits")
def with_logits(
    at: At, self: Value, target: Value, weight: Any, pos_weight: Any, reduction: int
) -> None:
    at.math_known("exp log1p")
    domain = at.over(self.spec.shape)
    _broadcast(self, target)
    element = at.result.dtype
    value, wanted = domain.operand(self, element), domain.operand(target, element)
    soft = (-value.unary("abs")).math("exp").math("log1p") + (-value).maximum(0)
    if pos_weight is None:
        loss = (1 - wanted) * value + soft
    else:
        factor = (domain.operand(pos_weight, element) - 1) * wanted + 1
        loss = (1 - wanted) * value + factor * soft
    if weight is not None:
        loss = loss * domain.operand(weight, element)
    reduced(domain, loss, reduction)


@lowering("binary_cross_entropy")
def cross_entropy(at: At, self: Value, target: Value, weight: Any, reduction: int) -> None:
    at.math_known("log log1p")
    domain = at.over(_broadcast(self, target, weight))
    value, wanted = domain.read(self), domain.read(target)
    message = (
        "binary_cross_entropy: all elements of input should be between 0 and 1; pass "
        "probabilities, or logits to binary_cross_entropy_with_logits"
    )
    inside = (value >= 0) & (value <= 1)
    value = at.terms.check(inside, value, at.lower.failure(RuntimeError, message))
    loss = (wanted - 1) * (-value).math("log1p").maximum(-100.0)
    loss = loss - wanted * value.math("log").maximum(-100.0)
    reduced(domain, loss if weight is None else loss * domain.read(weight), reduction)


class _Classes:
    """One target a sample: the samples' loops, the targets, and the weights of their classes."""

    def __init__(
        self, at: At, scores: Value, target: Value, weight: Any, ignore_index: int
    ) -> None:
        shape = scores.spec.shape
        self.dim = 1 if len(shape) > 1 else 0
        sizes = shape[: self.dim] + shape[self.dim + 1 :]
        self.at, self.scores, self.target, self.ignore = at, scores, target, ignore_index
        self.weight = weight
        self.count = shape[self.dim]
        self.domain = at.over(sizes)

    def found(self, domain: Domain, skip: int) -> tuple[Expression, Expression, Expression]:
        """Which samples are ignored, their classes and weights; `skip` is a loop over classes."""
        at, spec = self.at, self.target.spec
        sizes = list(domain.sizes)
        steps = list(spec.strides)
        if skip >= 0:
            del sizes[skip]
        if tuple(sizes) != spec.shape:
            steps = [0] * len(sizes)
        if skip >= 0:
            steps.insert(skip, 0)
        raw = domain.read_as(self.target, tuple(steps)).to(d.int64)
        ignored = raw.eq(self.ignore)
        message = (
            f"nll_loss: Target is out of bounds; expected a class from 0 to {self.count - 1} or "
            f"ignore_index ({self.ignore})"
        )
        safe = ignored.where(0, raw)
        which = at.within(safe, self.count, IndexError, message)
        element = working(self.scores.spec.dtype)
        if self.weight is None:
            counted = at.terms.constant(1, element)
        else:
            own = self.weight.spec
            access = Access(
                at.lower.buffer(self.weight), own.dtype, (0,) * len(domain.sizes), own.offset
            )
            counted = at.terms.lookup(access, which * own.strides[0])
        return ignored, which, ignored.where(0, counted)


@lowering("nll_loss_forward", "nll_loss2d_forward")
def nll_loss(
    at: At, self: Value, target: Value, weight: Any, reduction: int, ignore_index: int
) -> None:
    if self.spec.numel == 0:
        raise Unsupported("no samples")
    classes = _Classes(at, self, target, weight, ignore_index)
    domain, spec = classes.domain, self.spec
    ignored, which, counted = classes.found(domain, -1)
    along = spec.strides[: classes.dim] + spec.strides[classes.dim + 1 :]
    access = Access(at.lower.buffer(self), spec.dtype, along, spec.offset)
    picked = at.terms.lookup(access, which * spec.strides[classes.dim])
    loss = ignored.where(0, -picked * counted)
    scalar = at.over(())
    if reduction == NONE:
        domain.store(loss, 0)
        scalar.store(at.terms.constant(0, loss.dtype), 1)
        return
    every = tuple(range(len(domain.sizes)))
    _, total = domain.reduce("add", loss, every).kept(False)
    _, weights = domain.reduce("add", counted, every).kept(False)
    scalar.store(total / weights if reduction == MEAN else total, 0)
    scalar.store(weights, 1)


@lowering("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(
    at: At, grad_output: Value, self: Value, target: Value, weight: Any, reduction: int,
    ignore_index: int, total_weight: Value,
) -> None:  # fmt: skip
    classes = _Classes(at, self, target, weight, ignore_index)
    domain = at.points()
    ignored, which, counted = classes.found(domain, classes.dim)
    if grad_output.spec.shape:
        loops = [each for each in range(len(domain.sizes)) if each != classes.dim]
        grad = domain.read_along(grad_output, loops)
    else:
        grad = domain.read(grad_output)
    if reduction == MEAN:
        grad = grad / domain.read(total_weight)
    here = domain.place(classes.dim).eq(which) & ~ignored
    domain.store(here.where(-counted * grad, 0))
