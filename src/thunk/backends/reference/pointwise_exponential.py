"""NumPy rules of exponentials, logarithms, circular and hyperbolic functions."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.pointwise_operands import is_complex, operand
from thunk.types.spec import TensorSpec

LN2 = numpy.log(2.0)


def _mapping(function: Any) -> Any:
    def apply(spec: TensorSpec, self: Any) -> Any:
        return function(operand(self, spec.dtype))

    return apply


for _name, _function in {
    "exp": numpy.exp, "exp2": numpy.exp2, "expm1": numpy.expm1, "log": numpy.log,
    "log2": numpy.log2, "log10": numpy.log10, "log1p": numpy.log1p,
    "sin": numpy.sin, "cos": numpy.cos, "tan": numpy.tan, "asin": numpy.arcsin,
    "acos": numpy.arccos, "atan": numpy.arctan, "sinh": numpy.sinh, "cosh": numpy.cosh,
    "tanh": numpy.tanh, "asinh": numpy.arcsinh, "acosh": numpy.arccosh, "atanh": numpy.arctanh,
}.items():  # fmt: skip
    rule(_name)(_mapping(_function))


@rule("atan2")
def atan2(spec: TensorSpec, self: Any, other: Any) -> Any:
    return numpy.arctan2(operand(self, spec.dtype), operand(other, spec.dtype))


@rule("sinc")
def sinc(spec: TensorSpec, self: Any) -> Any:
    angle = numpy.pi * operand(self, spec.dtype)
    nonzero = numpy.where(angle == 0, numpy.ones((), angle.dtype), angle)
    return numpy.where(angle == 0, numpy.ones((), angle.dtype), numpy.sin(angle) / nonzero)


@rule("logaddexp")
def logaddexp(spec: TensorSpec, self: Any, other: Any) -> Any:
    left, right = operand(self, spec.dtype), operand(other, spec.dtype)
    if not is_complex(left):
        return numpy.logaddexp(left, right)
    swap = left.real < right.real
    high, low = numpy.where(swap, right, left), numpy.where(swap, left, right)
    same = (high == low) & ~numpy.isfinite(high.real)
    return numpy.where(same, high, high + numpy.log1p(numpy.exp(low - high)))


@rule("logaddexp2")
def logaddexp2(spec: TensorSpec, self: Any, other: Any) -> Any:
    return numpy.logaddexp2(operand(self, spec.dtype), operand(other, spec.dtype))


def _times_logarithm(factor: Any, argument: Any, logarithm: Any) -> Any:
    product = factor * logarithm(argument)
    return numpy.where((factor == 0) & ~numpy.isnan(argument), 0, product).astype(product.dtype)


@rule("xlogy.Tensor")
def xlogy(spec: TensorSpec, self: Any, other: Any) -> Any:
    return _times_logarithm(operand(self, spec.dtype), operand(other, spec.dtype), numpy.log)


@rule("special_xlog1py")
def xlog1py(spec: TensorSpec, self: Any, other: Any) -> Any:
    return _times_logarithm(operand(self, spec.dtype), operand(other, spec.dtype), numpy.log1p)


@rule("special_entr")
def entr(spec: TensorSpec, self: Any) -> Any:
    values = operand(self, spec.dtype)
    inside = -_times_logarithm(values, values, numpy.log)
    return numpy.where(values < 0, -numpy.inf, inside).astype(values.dtype)


@rule("frexp.Tensor")
def frexp(specs: tuple[TensorSpec, TensorSpec], self: Any) -> Any:
    mantissa, exponent = numpy.frexp(operand(self, specs[0].dtype))
    return mantissa, exponent
