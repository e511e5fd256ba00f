"""NumPy rules of variance, deviation, norms and log-sum-exp."""

from __future__ import annotations

import math
from typing import Any

import numpy

from thunk.backends.reference.kernel import convert, rule
from thunk.backends.reference.reduce import axes, pairwise_sum, reduced_last, with_ones
from thunk.types.spec import TensorSpec


def _moments(self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """Variance and mean: centred by a first mean, whose rounding is then taken out again."""
    over = axes(dim, self.ndim)
    ordered = reduced_last(self, over)
    count = ordered.shape[-1]
    real = numpy.dtype(ordered.real.dtype).type
    mean = ordered.sum(-1, keepdims=True) / real(count)
    centred = ordered - mean
    rest = centred.sum(-1) / real(count)
    degrees = max(count - (1 if correction is None else correction), 0)
    variance = (_squares(centred).sum(-1) - real(count) * _squares(rest)) / real(degrees)
    # The correction may round a variance of nothing below zero.
    variance = numpy.where(variance < 0, real(0), variance)
    return with_ones(variance, over, keepdim), with_ones(mean[..., 0] + rest, over, keepdim)


def _squares(values: Any) -> Any:
    """The squares of magnitudes."""
    if numpy.iscomplexobj(values):
        return values.real**2 + values.imag**2
    return values * values


@rule("var.correction", half="float32")
def var(spec: TensorSpec, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return _moments(self, dim, correction, keepdim)[0]


@rule("std.correction", half="float32")
def std(spec: TensorSpec, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return numpy.sqrt(_moments(self, dim, correction, keepdim)[0])


@rule("var_mean.correction", half="float32")
def var_mean(specs: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return _moments(self, dim, correction, keepdim)


@rule("std_mean.correction", half="float32")
def std_mean(specs: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    variance, mean = _moments(self, dim, correction, keepdim)
    return numpy.sqrt(variance), mean


@rule("logsumexp", half="float32")
def logsumexp(spec: TensorSpec, self: Any, dim: Any, keepdim: bool) -> Any:
    over = axes(dim, self.ndim)
    if self.dtype.kind not in "fc":
        self = convert(self, spec.dtype.numpy)
    ordered = reduced_last(self, over)
    if not ordered.shape[-1]:
        return with_ones(numpy.full(ordered.shape[:-1], -math.inf, self.dtype), over, keepdim)
    largest = ordered.real.max(-1, keepdims=True)
    # Without this, rows of infinities would subtract infinity from itself.
    largest = numpy.where(numpy.isinf(largest), largest.dtype.type(0), largest)
    total = numpy.log(numpy.exp(ordered - largest).sum(-1)) + largest[..., 0]
    return with_ones(total, over, keepdim)


@rule("linalg_vector_norm", half="float32")
def vector_norm(spec: TensorSpec, self: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    over = axes(dim, self.ndim)
    if dtype is not None and dtype.itemsize > 2:
        self = convert(self, dtype.numpy)
    if ord == 0:
        return pairwise_sum((self != 0).astype(numpy.abs(self).dtype), over, keepdim)
    size = numpy.abs(self)
    if math.isinf(ord):
        if not spec.numel:
            return numpy.empty(spec.shape, size.dtype)
        if not size.ndim:
            return size
        return size.max(over, keepdims=keepdim) if ord > 0 else size.min(over, keepdims=keepdim)
    if not over:
        return size
    if ord == 1:
        return pairwise_sum(size, over, keepdim)
    if ord == 2:
        return numpy.sqrt(pairwise_sum(_squares(self), over, keepdim))
    order = size.dtype.type(ord)
    return numpy.power(pairwise_sum(size**order, over, keepdim), size.dtype.type(1 / ord))
