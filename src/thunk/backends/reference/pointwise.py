"""NumPy rules of the elementwise operators."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


def operand(value: Any, spec: TensorSpec) -> Any:
    """An operand in the result's dtype, so that the arithmetic happens in it."""
    if isinstance(value, numpy.ndarray):
        return value.astype(spec.dtype.numpy, copy=False)
    return numpy.asarray(value).astype(spec.dtype.numpy)


@rule("add.Tensor")
def add(spec: TensorSpec, self: Any, other: Any, alpha: Any) -> Any:
    left, right = operand(self, spec), operand(other, spec)
    if alpha == 1:
        return left + right
    return left + operand(alpha, spec) * right


@rule("sub.Tensor")
def sub(spec: TensorSpec, self: Any, other: Any, alpha: Any) -> Any:
    left, right = operand(self, spec), operand(other, spec)
    if alpha == 1:
        return left - right
    return left - operand(alpha, spec) * right


@rule("mul.Tensor")
def mul(spec: TensorSpec, self: Any, other: Any) -> Any:
    return operand(self, spec) * operand(other, spec)


@rule("div.Tensor")
def div(spec: TensorSpec, self: Any, other: Any) -> Any:
    return numpy.divide(operand(self, spec), operand(other, spec))


@rule("neg")
def neg(spec: TensorSpec, self: Any) -> Any:
    return numpy.negative(self)


@rule("isnan")
def isnan(spec: TensorSpec, self: Any) -> Any:
    if self.dtype.kind in "biu":
        return numpy.zeros(self.shape, bool)
    return numpy.isnan(self)
