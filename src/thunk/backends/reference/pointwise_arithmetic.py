"""NumPy rules of addition, products, quotients, remainders and fused forms of them."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.pointwise_operands import operand, scalar_operand, working_dtype
from thunk.types.spec import TensorSpec


@rule("add.Tensor")
def add(spec: TensorSpec, self: Any, other: Any, alpha: Any) -> Any:
    left, right = operand(self, spec.dtype), scalar_operand(other, spec.dtype)
    if alpha == 1:
        return left + right
    return left + scalar_operand(alpha, spec.dtype) * right


@rule("sub.Tensor")
def sub(spec: TensorSpec, self: Any, other: Any, alpha: Any) -> Any:
    left, right = operand(self, spec.dtype), scalar_operand(other, spec.dtype)
    if alpha == 1:
        return left - right
    return left - scalar_operand(alpha, spec.dtype) * right


@rule("mul.Tensor")
def mul(spec: TensorSpec, self: Any, other: Any) -> Any:
    return operand(self, spec.dtype) * scalar_operand(other, spec.dtype)


@rule("neg")
def neg(spec: TensorSpec, self: Any) -> Any:
    return numpy.negative(self)


@rule("div.Tensor")
def div(spec: TensorSpec, self: Any, other: Any) -> Any:
    return numpy.divide(operand(self, spec.dtype), scalar_operand(other, spec.dtype))


@rule("div.Tensor_mode")
def div_mode(spec: TensorSpec, self: Any, other: Any, rounding_mode: Any) -> Any:
    if rounding_mode is None:
        return div(spec, self, other)
    left, right = operand(self, spec.dtype), scalar_operand(other, spec.dtype)
    if rounding_mode == "floor":
        return _floor_quotient("div", left, right)
    if left.dtype.kind == "f":
        return numpy.trunc(left / right)
    _refuse_zero("div", right)
    down = numpy.floor_divide(left, right)
    inexact = numpy.remainder(left, right) != 0
    return down + (inexact & ((left < 0) != (right < 0)))


@rule("floor_divide")
def floor_divide(spec: TensorSpec, self: Any, other: Any) -> Any:
    left, right = operand(self, spec.dtype), scalar_operand(other, spec.dtype)
    return _floor_quotient("floor_divide", left, right)


def _floor_quotient(name: str, left: Any, right: Any) -> Any:
    if left.dtype.kind != "f":
        _refuse_zero(name, right)
    return numpy.floor_divide(left, right)


def _refuse_zero(name: str, divisor: Any) -> None:
    if not numpy.all(divisor):
        raise RuntimeError(
            f"{name}: ZeroDivisionError: expected integer divisors other than 0, got 0; "
            "mask them or divide floating point numbers"
        )


@rule("remainder.Tensor")
def remainder(spec: TensorSpec, self: Any, other: Any) -> Any:
    left, right = operand(self, spec.dtype), operand(other, spec.dtype)
    if left.dtype.kind != "f":
        _refuse_zero("remainder", right)
        return numpy.remainder(left, right)
    rest = numpy.fmod(left, right)
    return numpy.where((rest != 0) & ((right < 0) != (rest < 0)), rest + right, rest)


@rule("fmod.Tensor")
def fmod(spec: TensorSpec, self: Any, other: Any) -> Any:
    left, right = operand(self, spec.dtype), operand(other, spec.dtype)
    if left.dtype.kind != "f":
        _refuse_zero("fmod", right)
    return numpy.fmod(left, right)


@rule("addcmul")
def addcmul(spec: TensorSpec, self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    base, left, right = (operand(each, spec.dtype) for each in (self, tensor1, tensor2))
    product = left * right
    return base + (product if value == 1 else scalar_operand(value, spec.dtype) * product)


@rule("addcdiv")
def addcdiv(spec: TensorSpec, self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    base, left, right = (operand(each, spec.dtype) for each in (self, tensor1, tensor2))
    return base + scalar_operand(value, spec.dtype) * left / right


@rule("lerp.Scalar", "lerp.Tensor")
def lerp(spec: TensorSpec, self: Any, end: Any, weight: Any) -> Any:
    start, stop = operand(self, spec.dtype), operand(end, spec.dtype)
    share = numpy.asarray(weight).astype(working_dtype(spec.dtype))
    way = stop - start
    # From the nearer end, so that weight 1 gives `end` exactly.
    near = numpy.abs(share) < 0.5
    return numpy.where(near, start + share * way, stop - way * (1 - share))
