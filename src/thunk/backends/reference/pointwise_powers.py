"""NumPy rules of powers, roots and hypotenuses."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.pointwise_operands import operand
from thunk.types.spec import TensorSpec

_SHORTCUTS: dict[Any, Any] = {
    0.5: numpy.sqrt,
    2: numpy.square,
    3: lambda base: base * base * base,
    -0.5: lambda base: 1 / numpy.sqrt(base),
    -1: lambda base: 1 / base,
    -2: lambda base: 1 / (base * base),
}


@rule("pow.Tensor_Tensor")
def power(spec: TensorSpec, self: Any, exponent: Any) -> Any:
    base = operand(self, spec.dtype)
    if not isinstance(exponent, numpy.ndarray):
        # PyTorch takes roots and squares of fixed exponents, which differ at -inf and -0.
        shortcut = _SHORTCUTS.get(exponent)
        if shortcut is not None and (base.dtype.kind in "fc" or exponent > 0):
            return shortcut(base)
    raised = operand(exponent, spec.dtype)
    if base.dtype.kind in "iu":
        return _integer_power(base, raised)
    if base.dtype.kind == "c":
        return _complex_power(base, raised)
    return numpy.power(base, raised)


def _integer_power(base: Any, exponent: Any) -> Any:
    """Negative exponents give the whole part of the fraction: 0 unless the base is 1 or -1."""
    result = numpy.power(base, numpy.maximum(exponent, 0))
    sign = numpy.where(exponent % 2 == 0, 1, -1)
    fraction = numpy.where(base == 1, 1, numpy.where(base == -1, sign, 0))
    return numpy.where(exponent < 0, fraction, result).astype(result.dtype)


def _complex_power(base: Any, exponent: Any) -> Any:
    result = numpy.power(base, exponent)
    return numpy.where(exponent == 0, numpy.ones((), result.dtype), result)


@rule("sqrt")
def sqrt(spec: TensorSpec, self: Any) -> Any:
    return numpy.sqrt(operand(self, spec.dtype))


@rule("rsqrt")
def rsqrt(spec: TensorSpec, self: Any) -> Any:
    return 1 / numpy.sqrt(operand(self, spec.dtype))


@rule("reciprocal")
def reciprocal(spec: TensorSpec, self: Any) -> Any:
    return 1 / operand(self, spec.dtype)


@rule("hypot")
def hypot(spec: TensorSpec, self: Any, other: Any) -> Any:
    return numpy.hypot(operand(self, spec.dtype), operand(other, spec.dtype))
