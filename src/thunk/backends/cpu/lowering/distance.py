"""Distances between all vectors of sets, as rows of differences that are reduced."""

from __future__ import annotations

import math
from typing import Any

import numpy

from thunk.compiler.access import Access
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Scalar, Value


def _fixed(p: Any) -> float:
    if isinstance(p, Scalar):
        raise Unsupported("a norm that is known only at run time")
    return float(p)


def _difference(domain: Domain, x1: Value, x2: Value) -> Expression:
    """Loops: batches, vectors of `x1`, vectors of `x2`, features."""
    rank = len(domain.sizes)
    return domain.read_as(x1, _steps(x1, rank, rank - 2)) - domain.read_as(
        x2, _steps(x2, rank, rank - 3)
    )


def _steps(value: Value, rank: int, still: int) -> tuple[int, ...]:
    """Steps of (batches, vectors, features) along loops in which `still` is another's."""
    spec = value.spec
    steps = [0 if size == 1 else step for size, step in zip(spec.shape, spec.strides, strict=True)]
    steps.insert(len(steps) - (rank - 1 - still), 0)
    return (*[0] * (rank - len(steps)), *steps)


def _store_norms(at: At, domain: Domain, difference: Expression, p: float) -> None:
    """The p-norms along the last loop."""
    size = difference.unary("abs")
    over = (len(domain.sizes) - 1,)
    if p == 0:
        row = domain.reduce("add", size.ne(0).to(size.dtype), over)
    elif math.isinf(p):
        row = domain.reduce("maximum", size, over)
    elif p == 1:
        row = domain.reduce("add", size, over)
    elif p == 2:
        row = domain.reduce("add", size * size, over)
    else:
        at.math_known("pow")
        row = domain.reduce("add", size.math("pow", p), over)
    kept, total = row.kept(False)
    if p == 2:
        total = total.unary("sqrt")
    elif p not in (0, 1) and not math.isinf(p):
        total = total.math("pow", 1 / p)
    kept.store(total)


@lowering("_cdist_forward")
def cdist(at: At, x1: Value, x2: Value, p: Any, compute_mode: Any) -> None:
    order = _fixed(p)
    features = x1.spec.shape[-1]
    if not features:
        at.points().store(at.terms.constant(0, at.result.dtype))
        return
    domain = at.over((*at.result.shape, features))
    _store_norms(at, domain, _difference(domain, x1, x2), order)


def _sign(value: Expression) -> Expression:
    one = value.maker.constant(1, value.dtype)
    return (value > 0).where(one, (value < 0).where(-one, value * 0.0))


def _slope(difference: Expression, norm: Expression, p: float) -> Expression:
    """The derivative of the norm by the difference; zero where the norm is zero."""
    size = difference.unary("abs")
    if p == 1:
        return _sign(difference)
    if math.isinf(p):
        return size.eq(norm).where(_sign(difference), 0)
    if p == 2:
        found = difference / norm
    else:
        found = _sign(difference) * (size / norm).math("pow", p - 1)
    gone = norm.eq(0)
    if p < 1:
        gone = gone | size.eq(0)
    return gone.where(0, found)


@lowering("_cdist_backward")
def cdist_backward(at: At, grad: Value, x1: Value, x2: Value, p: Any, cdist: Value) -> None:
    order = _fixed(p)
    if order not in (0, 1, 2) and not math.isinf(order):
        at.math_known("pow")
    shape = cdist.spec.shape
    if order == 0 or not shape[-1]:
        at.points().store(at.terms.constant(0, at.result.dtype))
        return
    domain = at.over((*shape, x1.spec.shape[-1]))
    rank = len(domain.sizes)
    norm = domain.read_as(cdist, (*cdist.spec.strides, 0))
    weight = domain.read_as(grad, (*_aligned(grad, rank - 1), 0))
    slope = _slope(_difference(domain, x1, x2), norm, order)
    kept, total = domain.reduce("add", weight * slope, (rank - 2,)).kept(False)
    kept.store(total)


def _aligned(value: Value, rank: int) -> tuple[int, ...]:
    spec = value.spec
    steps = [0 if size == 1 else step for size, step in zip(spec.shape, spec.strides, strict=True)]
    return (*[0] * (rank - len(steps)), *steps)


def _pairs(at: At, self: Value) -> tuple[Domain, tuple[Expression, Expression], Expression]:
    """Loops over pairs of rows and features, both rows' numbers, and their differences."""
    rows, features = self.spec.shape
    numbers = numpy.triu_indices(rows, 1)
    if not numbers[0].size or not features:
        raise Unsupported("no pairs")
    domain = at.over((numbers[0].size, features))
    first, second = (domain.table(each.astype(numpy.int64), (0,)) for each in numbers)
    window = at.lower.window(self)
    still = window.over((0, window.strides[1]))
    left, right = (at.terms.lookup(still, each * window.strides[0]) for each in (first, second))
    return domain, (first, second), left - right


@lowering("_pdist_forward")
def pdist(at: At, self: Value, p: Any) -> None:
    domain, _, difference = _pairs(at, self)
    _store_norms(at, domain, difference, _fixed(p))


@lowering("_pdist_backward")
def pdist_backward(at: At, grad: Value, self: Value, p: Any, pdist: Value) -> None:
    order = _fixed(p)
    spec = at.result
    if spec.dtype.itemsize < 4:
        raise Unsupported("sums that are rounded each time")
    at.math_known("pow")
    at.points().store(at.terms.constant(0, spec.dtype))
    if order == 0 or not pdist.spec.numel or not self.spec.shape[1]:
        return
    domain, rows, difference = _pairs(at, self)
    norm = domain.read_as(pdist, (pdist.spec.strides[0], 0))
    moved = domain.read_as(grad, (grad.spec.strides[0], 0)) * _slope(difference, norm, order)
    target = Access(at.lower.buffer(at.node.outputs[0]), spec.dtype, (0, spec.strides[1]))
    for row, term in zip(rows, (moved, -moved), strict=True):
        domain.scatter(target, row * spec.strides[0], term, (0,), "add")
