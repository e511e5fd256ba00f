"""Sums, products, extremes, truth, moments and norms along dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from thunk.compiler.access import Access
from thunk.compiler.expression import Expression, working
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Scalar, Value
from thunk.types import dtype as d


def loops_of(dim: Any, rank: int) -> tuple[int, ...]:
    """Loops for PyTorch's `dim`; None or () means all."""
    if dim is None or dim == ():
        return tuple(range(rank))
    dims = (dim,) if isinstance(dim, int) else dim
    return tuple([each % rank for each in dims if rank])


def count_of(domain: Domain, over: Sequence[int]) -> int:
    """How many points a row is reduced from."""
    return math.prod(domain.sizes[each] for each in over)


def _term(at: At, domain: Domain, self: Value) -> Expression:
    """The operand in the type that its terms are combined in."""
    value = domain.read(self)
    element = at.result.dtype
    if self.spec.dtype is element:
        return value
    return value.to(working(element)) if element.itemsize < 4 else value.to(element)


def _adding(at: At) -> str:
    """How terms are added: truths do not wrap around."""
    return "or" if at.result.dtype is d.bool_ else "add"


def _reduced(at: At, self: Value, dim: Any, keepdim: bool, combine: str) -> tuple[Any, Any, int]:
    domain = at.over(self.spec.shape)
    over = loops_of(dim, len(domain.sizes))
    if combine == "add":
        combine = _adding(at)
    row = domain.reduce(combine, _term(at, domain, self), over)
    return (*row.kept(keepdim), count_of(domain, over))


@lowering("sum.dim_IntList")
def sum_dims(at: At, self: Value, dim: Any, keepdim: bool, dtype: Any) -> None:
    domain, total, _ = _reduced(at, self, dim, keepdim, "add")
    domain.store(total)


@lowering("sum")
def sum_all(at: At, self: Value, dtype: Any) -> None:
    sum_dims(at, self, None, False, dtype)


@lowering("mean.dim")
def mean_dims(at: At, self: Value, dim: Any, keepdim: bool, dtype: Any) -> None:
    domain, total, count = _reduced(at, self, dim, keepdim, "add")
    domain.store(total / float(count))


@lowering("mean")
def mean_all(at: At, self: Value, dtype: Any) -> None:
    mean_dims(at, self, None, False, dtype)


@lowering("nansum")
def nansum(at: At, self: Value, dim: Any, keepdim: bool, dtype: Any) -> None:
    domain = at.over(self.spec.shape)
    value = domain.read(self)
    if value.dtype.is_floating_point:
        value = value.ne(value).where(0, value)
    over = loops_of(dim, len(domain.sizes))
    row = domain.reduce(_adding(at), value.to(working(at.result.dtype)), over)
    kept, total = row.kept(keepdim)
    kept.store(total)


@lowering("prod.dim_int")
def prod_dim(at: At, self: Value, dim: Any, keepdim: bool, dtype: Any) -> None:
    domain, total, _ = _reduced(at, self, dim, keepdim, "mul")
    domain.store(total)


@lowering("prod")
def prod_all(at: At, self: Value, dtype: Any) -> None:
    prod_dim(at, self, None, False, dtype)


def _extreme(at: At, self: Value, dim: Any, keepdim: bool, combine: str) -> None:
    domain = at.over(self.spec.shape)
    row = domain.reduce(combine, domain.read(self), loops_of(dim, len(domain.sizes)))
    kept, found = row.kept(keepdim)
    kept.store(found)


@lowering("amax")
def amax(at: At, self: Value, dim: Any, keepdim: bool) -> None:
    _extreme(at, self, dim, keepdim, "maximum")


@lowering("amin")
def amin(at: At, self: Value, dim: Any, keepdim: bool) -> None:
    _extreme(at, self, dim, keepdim, "minimum")


@lowering("max")
def max_all(at: At, self: Value) -> None:
    _extreme(at, self, None, False, "maximum")


@lowering("min")
def min_all(at: At, self: Value) -> None:
    _extreme(at, self, None, False, "minimum")


@lowering("aminmax")
def aminmax(at: At, self: Value, dim: int | None, keepdim: bool) -> None:
    domain = at.over(self.spec.shape)
    over = loops_of(dim, len(domain.sizes))
    for index, combine in enumerate(("minimum", "maximum")):
        kept, found = domain.reduce(combine, domain.read(self), over).kept(keepdim)
        kept.store(found, index)


def _positioned(
    at: At, self: Value, dim: int | None, keepdim: bool, combine: str
) -> tuple[Domain, Expression, Expression]:
    """The extreme and the first place that holds it; NaN is extreme."""
    domain = at.over(self.spec.shape)
    rank = len(domain.sizes)
    over = loops_of(dim, rank)
    value = domain.read(self)
    best = domain.reduce(combine, value, over)
    if dim is None:
        strides, step = [0] * rank, 1
        for loop in reversed(range(rank)):
            strides[loop] = step
            step *= domain.sizes[loop]
        place = domain.terms.place(tuple(strides))
    else:
        place = domain.place(over[0]) if over else domain.terms.constant(0, d.int64)
    here = value.eq(best.again())
    if value.dtype.is_floating_point:
        here = here | value.ne(value)
    first = domain.reduce("minimum", here.where(place, (1 << 62)), over)
    kept, found = best.kept(keepdim)
    return kept, found, first.kept(keepdim)[1]


def _with_place(at: At, self: Value, dim: int, keepdim: bool, combine: str) -> None:
    kept, found, place = _positioned(at, self, dim, keepdim, combine)
    kept.store(found, 0)
    kept.store(place, 1)


@lowering("max.dim")
def max_dim(at: At, self: Value, dim: int, keepdim: bool) -> None:
    _with_place(at, self, dim, keepdim, "maximum")


@lowering("min.dim")
def min_dim(at: At, self: Value, dim: int, keepdim: bool) -> None:
    _with_place(at, self, dim, keepdim, "minimum")


def _place_only(at: At, self: Value, dim: int | None, keepdim: bool, combine: str) -> None:
    kept, _, place = _positioned(at, self, dim, keepdim, combine)
    kept.store(place)


@lowering("argmax")
def argmax(at: At, self: Value, dim: int | None, keepdim: bool) -> None:
    _place_only(at, self, dim, keepdim, "maximum")


@lowering("argmin")
def argmin(at: At, self: Value, dim: int | None, keepdim: bool) -> None:
    _place_only(at, self, dim, keepdim, "minimum")


def _truth(at: At, self: Value, dim: Any, keepdim: bool, combine: str) -> None:
    domain = at.over(self.spec.shape)
    over = () if dim == () else loops_of(dim, len(domain.sizes))
    row = domain.reduce(combine, domain.read(self).to(d.bool_), over)
    kept, found = row.kept(keepdim)
    kept.store(found)


@lowering("any.dims", "any.dim")
def any_dims(at: At, self: Value, dim: Any, keepdim: bool) -> None:
    _truth(at, self, dim, keepdim, "or")


@lowering("all.dims", "all.dim")
def all_dims(at: At, self: Value, dim: Any, keepdim: bool) -> None:
    _truth(at, self, dim, keepdim, "and")


@lowering("any")
def any_all(at: At, self: Value) -> None:
    _truth(at, self, None, False, "or")


@lowering("all")
def all_all(at: At, self: Value) -> None:
    _truth(at, self, None, False, "and")


def moments(
    domain: Domain, value: Expression, over: Sequence[int], degrees: float, keepdim: bool
) -> tuple[Domain, Expression, Expression]:
    """Variance and mean: centred by a first mean, whose rounding is then taken out again."""
    count = float(count_of(domain, over))
    first = domain.reduce("add", value, over)
    centred = value - first.again() / count
    squares = domain.reduce("add", centred * centred, over)
    rest = domain.reduce("add", centred, over)
    kept, total = first.kept(keepdim)
    left = rest.kept(keepdim)[1] / count
    variance = (squares.kept(keepdim)[1] - count * (left * left)) / degrees
    variance = (variance < 0).where(0, variance)
    return kept, variance, total / count + left


def _moments(
    at: At, self: Value, dim: Any, correction: Any, keepdim: bool
) -> tuple[Domain, Expression, Expression]:
    if isinstance(correction, Scalar):
        raise Unsupported("a correction that is known only at run time")
    domain = at.over(self.spec.shape)
    over = loops_of(dim, len(domain.sizes))
    own = 1 if correction is None else correction
    degrees = max(count_of(domain, over) - own, 0)
    return moments(domain, domain.read(self), over, float(degrees), keepdim)


@lowering("var.correction")
def var(at: At, self: Value, dim: Any, correction: Any, keepdim: bool) -> None:
    kept, variance, _ = _moments(at, self, dim, correction, keepdim)
    kept.store(variance)


@lowering("std.correction")
def std(at: At, self: Value, dim: Any, correction: Any, keepdim: bool) -> None:
    kept, variance, _ = _moments(at, self, dim, correction, keepdim)
    kept.store(variance.unary("sqrt"))


@lowering("var_mean.correction")
def var_mean(at: At, self: Value, dim: Any, correction: Any, keepdim: bool) -> None:
    kept, variance, mean = _moments(at, self, dim, correction, keepdim)
    kept.store(variance, 0)
    kept.store(mean, 1)


@lowering("std_mean.correction")
def std_mean(at: At, self: Value, dim: Any, correction: Any, keepdim: bool) -> None:
    kept, variance, mean = _moments(at, self, dim, correction, keepdim)
    kept.store(variance.unary("sqrt"), 0)
    kept.store(mean, 1)


@lowering("logsumexp")
def logsumexp(at: At, self: Value, dim: Any, keepdim: bool) -> None:
    at.math_known("exp log")
    domain = at.over(self.spec.shape)
    over = loops_of(dim, len(domain.sizes))
    value = _term(at, domain, self)
    largest = domain.reduce("maximum", value, over)
    shift = _finite(largest.again())
    total = domain.reduce("add", (value - shift).math("exp"), over)
    kept, found = total.kept(keepdim)
    kept.store(found.math("log") + _finite(largest.kept(keepdim)[1]))


def _finite(value: Expression) -> Expression:
    return value.unary("abs").eq(float("inf")).where(0, value)


@lowering("linalg_vector_norm")
def vector_norm(at: At, self: Value, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> None:
    if isinstance(ord, Scalar):
        raise Unsupported("an order that is known only at run time")
    domain = at.over(self.spec.shape)
    over = loops_of(dim, len(domain.sizes))
    value = domain.read(self)
    if dtype is not None and dtype.itemsize > 2:
        value = value.to(dtype)
    size = value.unary("abs")
    if math.isinf(ord):
        row = domain.reduce("maximum" if ord > 0 else "minimum", size, over)
    elif ord == 0:
        row = domain.reduce("add", value.ne(0).to(value.dtype), over)
    elif ord == 1:
        row = domain.reduce("add", size, over)
    elif ord == 2:
        row = domain.reduce("add", value * value, over)
    else:
        at.math_known("pow")
        row = domain.reduce("add", size.math("pow", float(ord)), over)
    kept, total = row.kept(keepdim)
    if ord == 2:
        total = total.unary("sqrt")
    elif ord not in (0, 1) and not math.isinf(ord):
        total = total.math("pow", 1 / ord)
    kept.store(total)



@lowering("trace")
def trace(at: At, self: Value) -> None:
    spec = self.spec
    domain = at.over((min(spec.shape),))
    diagonal = Access(at.lower.buffer(self), spec.dtype, (sum(spec.strides),), spec.offset)
    term = at.lower.load(diagonal)
    if at.result.dtype is not spec.dtype:
        term = term.to(at.result.dtype)
    kept, total = domain.reduce("add", term, (0,)).kept(False)
    kept.store(total)
