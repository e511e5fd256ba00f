"""NumPy rules of comparisons, predicates, logic and bits."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.pointwise_operands import common_dtype, is_complex, operand, promoted
from thunk.types.promotion import to_inexact
from thunk.types.spec import TensorSpec


def _comparing(function: Any) -> Any:
    def compare(spec: TensorSpec, self: Any, other: Any) -> Any:
        left, right = promoted(self, other)
        return function(left, right)

    return compare


rule("eq.Tensor")(_comparing(numpy.equal))
rule("ne.Tensor")(_comparing(numpy.not_equal))
rule("lt.Tensor")(_comparing(numpy.less))
rule("le.Tensor")(_comparing(numpy.less_equal))
rule("gt.Tensor")(_comparing(numpy.greater))
rule("ge.Tensor")(_comparing(numpy.greater_equal))


@rule("isclose")
def isclose(
    spec: TensorSpec, self: Any, other: Any, rtol: float, atol: float, equal_nan: bool
) -> Any:
    close = self == other
    if equal_nan:
        close = close | (isnan(spec, self) & isnan(spec, other))
    if rtol == 0 and atol == 0:
        return close
    element = to_inexact(common_dtype(self, other))
    left, right = operand(self, element), operand(other, element)
    distance = numpy.abs(left - right)
    allowed = atol + numpy.abs(rtol * right)
    return close | (numpy.isfinite(distance) & (distance <= allowed))


def _asking(function: Any, for_whole: bool) -> Any:
    """A predicate whose answer for bool and integers is `for_whole`."""

    def ask(spec: TensorSpec, self: Any) -> Any:
        if self.dtype.kind in "biu":
            return numpy.full(self.shape, for_whole)
        return function(self)

    return ask


isnan = rule("isnan", half="float32")(_asking(numpy.isnan, False))
rule("isinf", half="float32")(_asking(numpy.isinf, False))
rule("isfinite", half="float32")(_asking(numpy.isfinite, True))
rule("isposinf", half="float32")(_asking(numpy.isposinf, False))
rule("isneginf", half="float32")(_asking(numpy.isneginf, False))


@rule("isreal")
def isreal(spec: TensorSpec, self: Any) -> Any:
    return self.imag == 0 if is_complex(self) else numpy.ones(self.shape, bool)


@rule("logical_and")
def logical_and(spec: TensorSpec, self: Any, other: Any) -> Any:
    return (self != 0) & (other != 0)


@rule("logical_or")
def logical_or(spec: TensorSpec, self: Any, other: Any) -> Any:
    return (self != 0) | (other != 0)


@rule("logical_xor")
def logical_xor(spec: TensorSpec, self: Any, other: Any) -> Any:
    return (self != 0) ^ (other != 0)


@rule("logical_not")
def logical_not(spec: TensorSpec, self: Any) -> Any:
    return self == 0


def _in_result_dtype(function: Any) -> Any:
    def combine(spec: TensorSpec, self: Any, other: Any) -> Any:
        return function(operand(self, spec.dtype), operand(other, spec.dtype))

    return combine


rule("bitwise_and.Tensor")(_in_result_dtype(numpy.bitwise_and))
rule("bitwise_or.Tensor")(_in_result_dtype(numpy.bitwise_or))
rule("bitwise_xor.Tensor")(_in_result_dtype(numpy.bitwise_xor))
rule("gcd")(_in_result_dtype(numpy.gcd))
rule("lcm")(_in_result_dtype(numpy.lcm))


@rule("bitwise_not")
def bitwise_not(spec: TensorSpec, self: Any) -> Any:
    return numpy.invert(self)


@rule("bitwise_left_shift.Tensor")
def left_shift(spec: TensorSpec, self: Any, other: Any) -> Any:
    value, count, fits = _shift_operands(spec, self, other)
    return numpy.where(fits, numpy.left_shift(value, count), 0)


@rule("bitwise_right_shift.Tensor")
def right_shift(spec: TensorSpec, self: Any, other: Any) -> Any:
    value, count, fits = _shift_operands(spec, self, other)
    sign = numpy.where(value < 0, -1, 0).astype(value.dtype)
    return numpy.where(fits, numpy.right_shift(value, count), sign)


def _shift_operands(spec: TensorSpec, self: Any, other: Any) -> tuple[Any, Any, Any]:
    """Value, count, and where the count is one that C defines."""
    value, count = operand(self, spec.dtype), operand(other, spec.dtype)
    fits = (count >= 0) & (count < 8 * spec.dtype.itemsize)
    return value, numpy.where(fits, count, 0).astype(count.dtype), fits
