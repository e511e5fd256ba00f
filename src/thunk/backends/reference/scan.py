"""NumPy rules of the scans; running sums and products are kept in double precision."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import convert, rule
from thunk.types.spec import TensorSpec

_WIDER = {
    numpy.dtype(numpy.float32): numpy.dtype(numpy.float64),
    numpy.dtype(numpy.complex64): numpy.dtype(numpy.complex128),
}


def _accumulated(ufunc: Any, spec: TensorSpec, self: Any, dim: int) -> Any:
    target = numpy.dtype(numpy.float32) if spec.dtype.numpy.kind == "V" else spec.dtype.numpy
    if spec.dtype.itemsize == 2 and spec.dtype.is_floating_point:
        target = numpy.dtype(numpy.float32)
    wide = convert(self, _WIDER.get(target, target))
    return ufunc.accumulate(wide, dim) if self.ndim else wide


@rule("cumsum", half="float32")
def cumsum(spec: TensorSpec, self: Any, dim: int, dtype: Any) -> Any:
    return _accumulated(numpy.add, spec, self, dim)


@rule("cumprod", half="float32")
def cumprod(spec: TensorSpec, self: Any, dim: int, dtype: Any) -> Any:
    return _accumulated(numpy.multiply, spec, self, dim)


@rule("cummax", half="float32")
def cummax(specs: Any, self: Any, dim: int) -> Any:
    return _running(numpy.maximum, self, dim)


@rule("cummin", half="float32")
def cummin(specs: Any, self: Any, dim: int) -> Any:
    return _running(numpy.minimum, self, dim)


def _running(ufunc: Any, self: Any, dim: int) -> Any:
    """The extreme so far and the last index that attained it; NaN stays once met."""
    if not self.ndim or not self.size:
        return self.copy(), numpy.zeros(self.shape, numpy.int64)
    values = ufunc.accumulate(self, dim)
    attained = self == values
    if self.dtype.kind == "f":
        attained |= numpy.isnan(self)
    shape = [-1 if axis == dim % self.ndim else 1 for axis in range(self.ndim)]
    positions = numpy.arange(self.shape[dim]).reshape(shape)
    return values, numpy.maximum.accumulate(numpy.where(attained, positions, 0), dim)


@rule("logcumsumexp", half="float32")
def logcumsumexp(spec: TensorSpec, self: Any, dim: int) -> Any:
    if not self.ndim or not self.size:
        return self.copy()
    wide = self.astype(_WIDER.get(self.dtype, self.dtype))
    if wide.dtype.kind == "f":
        return numpy.logaddexp.accumulate(wide, dim)
    found = numpy.moveaxis(wide, dim, -1).copy()
    step = 1
    while step < found.shape[-1]:
        found[..., step:] = _logaddexp(found[..., :-step].copy(), found[..., step:].copy())
        step *= 2
    return numpy.moveaxis(found, -1, dim)


def _logaddexp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)) of complex numbers."""
    swap = b.real > a.real
    large, small = numpy.where(swap, b, a), numpy.where(swap, a, b)
    nothing = numpy.isneginf(small.real)
    ratio = numpy.where(nothing, 0, numpy.exp(numpy.where(nothing, 0, small - large)))
    return large + numpy.log1p(ratio)


@rule("_linear_recurrence", half="float32")
def linear_recurrence(spec: TensorSpec, decay: Any, input: Any, dim: int, reverse: bool) -> Any:
    """Doubling: after each step every element holds the sum over twice as many behind it."""
    shape = numpy.broadcast_shapes(decay.shape, input.shape)
    element = numpy.result_type(decay, input)
    kept = numpy.moveaxis(numpy.broadcast_to(decay, shape), dim, -1).astype(element)
    found = numpy.moveaxis(numpy.broadcast_to(input, shape), dim, -1).astype(element)
    if reverse:
        kept, found = kept[..., ::-1].copy(), found[..., ::-1].copy()
    step = 1
    while step < found.shape[-1]:
        found[..., step:] = found[..., step:] + kept[..., step:] * found[..., :-step]
        kept[..., step:] = kept[..., step:] * kept[..., :-step]
        step *= 2
    if reverse:
        found = found[..., ::-1]
    return numpy.moveaxis(found, -1, dim)
