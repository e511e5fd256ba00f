"""Losses by margins between the right class and others, and their gradients."""

from __future__ import annotations

from math import prod
from typing import Any

from thunk.backends.cpu.lowering.loss import MEAN, reduced
from thunk.backends.cpu.lowering.order import MOST_PAIRS
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression, working
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d

WRONG_CLASS = "multi_margin_loss: target out of range; expected classes from 0 to 0"


@lowering("soft_margin_loss")
def soft_margin_loss(at: At, self: Value, target: Value, reduction: int) -> None:
    at.math_known("exp log1p")
    if self.spec.shape != target.spec.shape:
        raise Unsupported("losses that broadcast")
    domain = at.over(self.spec.shape)
    element = at.result.dtype
    value = domain.operand(self, element) * domain.operand(target, element)
    soft = (-value.unary("abs")).math("exp").math("log1p")
    reduced(domain, soft - value.minimum(0), reduction)


def _alone(at: At, target: Value, least: int, message: str) -> Expression:
    """A score without others lacks nothing: the result is 0; returns its class."""
    right = at.over(()).read_as(target, ()).to(d.int64)
    fits = (right >= least) & (right < 1)
    code = at.lower.failure(RuntimeError, message)
    element = at.result.dtype
    at.over(()).store(at.terms.check(fits, at.terms.constant(0, element), code))
    return right


class _Rows:
    """Rows of scores, the right class of each, and what others take of its margin."""

    def __init__(self, at: At, self_: Value, target: Value, p: Any, margin: Any, weight: Any):
        self.at, self.scores, self.target, self.weight = at, self_, target, weight
        self.shape = self_.spec.shape
        self.count = self.shape[-1] if self.shape else 1
        if not self.shape or not self_.spec.numel:
            raise Unsupported("scores without rows")
        self.domain = at.over(self.shape)
        self.element = working(self_.spec.dtype)
        value = self.domain.read(self_)
        spec = self_.spec
        window = Access(at.lower.buffer(self_), spec.dtype, (*spec.strides[:-1], 0), spec.offset)
        right = self.right(self.domain, 1)
        picked = at.terms.lookup(window, right * spec.strides[-1])
        self.here = right.eq(self.domain.place(len(self.shape) - 1))
        room = self.domain.number(margin, self.element)
        self.lacking = self.here.where(0, (room - picked + value).maximum(0))
        self.is_linear = self.domain.number(p, self.element).eq(1)

    def right(self, domain: Domain, extra: int) -> Expression:
        """The right class in loops with `extra` ones after those over rows."""
        steps = self.target.spec.strides if len(self.shape) > 1 else ()
        raw = domain.read_as(self.target, (*steps, *[0] * extra)).to(d.int64)
        message = (
            "multi_margin_loss: target out of range; expected classes from 0 to "
            f"{self.count - 1}"
        )
        return self.at.within(raw, self.count, RuntimeError, message)

    def weighed(self, domain: Domain, term: Expression, extra: int) -> Expression:
        """The term times the weight of the right class."""
        if self.weight is None:
            return term
        own = self.weight.spec
        buffer = self.at.lower.buffer(self.weight)
        access = Access(buffer, own.dtype, (0,) * len(domain.sizes), own.offset)
        step = own.strides[0] if own.strides else 0
        return term * self.at.terms.lookup(access, self.right(domain, extra) * step)


@lowering("multi_margin_loss")
def multi_margin_loss(
    at: At, self: Value, target: Value, p: Any, margin: Any, weight: Any, reduction: int
) -> None:
    if not self.spec.shape and not at.result.shape:
        _alone(at, target, 0, WRONG_CLASS)
        return
    rows = _Rows(at, self, target, p, margin, weight)
    term = rows.is_linear.where(rows.lacking, rows.lacking * rows.lacking)
    kept, total = rows.domain.reduce("add", term, (len(rows.shape) - 1,)).kept(False)
    reduced(kept, rows.weighed(kept, total / float(rows.count), 0), reduction)


def _per_row(domain: Domain, grad: Value, extra: int) -> Expression:
    """A gradient for each row, or one for all."""
    if not grad.spec.shape:
        return domain.read(grad)
    return domain.read_as(grad, (*grad.spec.strides, *[0] * extra))


@lowering("multi_margin_loss_backward")
def multi_margin_loss_backward(
    at: At, grad_output: Value, self: Value, target: Value, p: Any, margin: Any, weight: Any,
    reduction: int,
) -> None:  # fmt: skip
    if not self.spec.shape and not at.result.shape:
        _alone(at, target, 0, WRONG_CLASS)
        return
    rows = _Rows(at, self, target, p, margin, weight)
    one = at.terms.constant(1, rows.element)
    flat = (rows.lacking > 0).where(one, 0)
    slope = rows.is_linear.where(flat, 2 * rows.lacking)
    total = rows.domain.reduce("add", slope, (len(rows.shape) - 1,)).again()
    slope = rows.here.where(-total, slope) / float(rows.count)
    slope = rows.weighed(rows.domain, slope, 1)
    if reduction == MEAN:
        slope = slope / float(prod(rows.shape[:-1]))
    rows.domain.store(slope * _per_row(rows.domain, grad_output, 1))


class _Listed:
    """Rows of scores, and how often the target lists each class before its first -1."""

    def __init__(self, at: At, scores: Value, target: Value) -> None:
        shape = scores.spec.shape
        if not shape or not scores.spec.numel or scores.spec.numel * shape[-1] > MOST_PAIRS:
            raise Unsupported("scores without rows, or many classes")
        self.at, self.rank, self.classes = at, len(shape), shape[-1]
        rank = self.rank
        pairs = self.pairs = at.over((*shape, self.classes))
        steps = target.spec.strides
        message = (
            "multilabel_margin_loss: target is out of range; expected classes from 0 to "
            f"{self.classes - 1}, or -1 after the last"
        )
        plain = at.over(shape)
        raw = plain.read_as(target, steps).to(d.int64)
        code = at.lower.failure(RuntimeError, message)
        raw = at.terms.check((raw >= -1) & (raw < self.classes), raw, code)
        ends = (raw < 0).where(plain.place(rank - 1), self.classes)
        first = plain.reduce("minimum", ends, (rank - 1,))
        listed = pairs.read_as(target, (*steps[:-1], 0, steps[-1])).to(d.int64)
        end = at.lower.load(first.access.over((*first.strides, 0)))
        counted = listed.eq(pairs.place(rank - 1)) & (pairs.place(rank) < end)
        element = working(scores.spec.dtype)
        self.counts = pairs.reduce("add", counted.to(element), (rank,))
        own = pairs.read_as(scores, (*scores.spec.strides, 0))
        other = pairs.read_as(scores, (*scores.spec.strides[:-1], 0, scores.spec.strides[-1]))
        self.right = self._count((*self.counts.strides[:-1], 0))
        others = self._count((*self.counts.strides[:-2], 0, self.counts.strides[-2]))
        self.lacking = others.eq(0).where((1 - own + other).maximum(0), 0)

    def _count(self, strides: tuple[int, ...]) -> Expression:
        return self.at.lower.load(self.counts.access.over(strides))


@lowering("multilabel_margin_loss_forward")
def multilabel_margin_loss(at: At, self: Value, target: Value, reduction: int) -> None:
    if not (self.spec.shape or at.result.shape or at.node.outputs[1].spec.shape):
        right = _alone(at, target, -1, WRONG_CLASS.replace("multi", "multilabel"))
        domain = at.over(())
        domain.store((right >= 0).to(at.node.outputs[1].spec.dtype), 1)
        return
    listed = _Listed(at, self, target)
    rank = listed.rank
    term = listed.lacking * listed.right
    kept, total = listed.pairs.reduce("add", term, (rank - 1, rank)).kept(False)
    reduced(kept, total / float(listed.classes), reduction)
    domain, count = listed.counts.kept(False)
    domain.store((count > 0).to(at.node.outputs[1].spec.dtype), 1)


@lowering("multilabel_margin_loss_backward")
def multilabel_margin_loss_backward(
    at: At, grad_output: Value, self: Value, target: Value, reduction: int, is_target: Value
) -> None:
    if not self.spec.shape and not at.result.shape:
        _alone(at, target, -1, WRONG_CLASS.replace("multi", "multilabel"))
        return
    listed = _Listed(at, self, target)
    rank, shape = listed.rank, self.spec.shape
    one = at.terms.constant(1, listed.right.dtype)
    slope = (listed.lacking > 0).where(one, 0) * listed.right
    domain, taken = listed.pairs.reduce("add", slope, (rank - 1,)).kept(False)
    given = listed.pairs.reduce("add", slope, (rank,)).kept(False)[1]
    found = (taken - given) / float(listed.classes)
    if reduction == MEAN:
        found = found / float(prod(shape[:-1]))
    domain.store(found * _per_row(domain, grad_output, 1))
