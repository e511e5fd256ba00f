"""NumPy rules of absolute values, signs and rounding."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.pointwise_operands import is_complex, is_float, operand
from thunk.types.spec import TensorSpec


@rule("abs", half="float32")
def absolute(spec: TensorSpec, self: Any) -> Any:
    return numpy.abs(self)


@rule("sign", half="float32")
def sign(spec: TensorSpec, self: Any) -> Any:
    if self.dtype.kind == "b":
        return self
    return (self > 0).astype(self.dtype) - (self < 0).astype(self.dtype)


@rule("sgn", half="float32")
def sgn(spec: TensorSpec, self: Any) -> Any:
    if not is_complex(self):
        return sign(spec, self)
    return numpy.where(self == 0, 0, self / numpy.abs(self))


@rule("signbit", half="float32")
def signbit(spec: TensorSpec, self: Any) -> Any:
    if self.dtype.kind in "bu":
        return numpy.zeros(self.shape, bool)
    return self < 0 if self.dtype.kind == "i" else numpy.signbit(self)


@rule("copysign.Tensor")
def copysign(spec: TensorSpec, self: Any, other: Any) -> Any:
    return numpy.copysign(operand(self, spec.dtype), operand(other, spec.dtype))


def _whole(function: Any) -> Any:
    def rounding(spec: TensorSpec, self: Any) -> Any:
        return function(self) if is_float(self) else self

    return rounding


rule("ceil", half="float32")(_whole(numpy.ceil))
rule("floor", half="float32")(_whole(numpy.floor))
rule("trunc", half="float32")(_whole(numpy.trunc))
rule("round", half="float32")(_whole(numpy.rint))


@rule("round.decimals", half="float32")
def round_decimals(spec: TensorSpec, self: Any, decimals: int) -> Any:
    factor = numpy.asarray(10.0 ** abs(decimals), self.dtype)
    if decimals < 0:
        return numpy.rint(self / factor) * factor
    return numpy.rint(self * factor) / factor


@rule("frac", half="float32")
def frac(spec: TensorSpec, self: Any) -> Any:
    return self - numpy.trunc(self)
