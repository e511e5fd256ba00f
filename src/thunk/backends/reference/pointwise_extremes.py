"""NumPy rules of extremes, bounds, steps and replaced infinities."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy

from thunk.backends.reference.kernel import convert, rule
from thunk.backends.reference.pointwise_operands import is_complex, operand
from thunk.types.spec import TensorSpec


def _choosing(function: Any) -> Any:
    def choose(spec: TensorSpec, self: Any, other: Any) -> Any:
        return function(operand(self, spec.dtype), operand(other, spec.dtype))

    return choose


rule("maximum", "clamp_min", "clamp_min.Tensor")(_choosing(numpy.maximum))
rule("minimum", "clamp_max", "clamp_max.Tensor")(_choosing(numpy.minimum))
rule("fmax")(_choosing(numpy.fmax))
rule("fmin")(_choosing(numpy.fmin))


@rule("clamp", "clamp.Tensor")
def clamp(spec: TensorSpec, self: Any, minimum: Any, maximum: Any) -> Any:
    result = operand(self, spec.dtype)
    if minimum is not None:
        result = numpy.maximum(result, operand(minimum, spec.dtype))
    if maximum is not None:
        result = numpy.minimum(result, operand(maximum, spec.dtype))
    # A bound that is NaN wins even where the other bound would.
    for bound in (minimum, maximum):
        if isinstance(bound, float) and bound != bound and result.dtype.kind == "f":
            return numpy.full_like(result, bound)
    return result


@rule("heaviside", half="float32")
def heaviside(spec: TensorSpec, self: Any, values: Any) -> Any:
    return numpy.where(self == 0, values, (self > 0).astype(values.dtype))


@rule("nextafter")
def nextafter(spec: TensorSpec, self: Any, other: Any) -> Any:
    first, second = convert(self, spec.dtype.numpy), convert(other, spec.dtype.numpy)
    return numpy.nextafter(first, second)


@rule("nan_to_num")
def nan_to_num(spec: TensorSpec, self: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if self.dtype.kind in "biu":
        return self
    if is_complex(self):
        result = numpy.empty(self.shape, self.dtype)
        result.real = _replaced(self.real, nan, posinf, neginf)
        result.imag = _replaced(self.imag, nan, posinf, neginf)
        return result
    return _replaced(self, nan, posinf, neginf)


def _replaced(values: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    # NumPy's own finfo knows nothing of bfloat16; this one is untyped.
    limits = ml_dtypes.finfo(values.dtype)  # type: ignore[no-untyped-call]
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    wide = values.astype(numpy.float32) if values.dtype.itemsize < 4 else values
    replaced = numpy.where(numpy.isnan(wide), 0.0 if nan is None else nan, wide)
    replaced = numpy.where(numpy.isposinf(wide), float(high), replaced)
    return numpy.where(numpy.isneginf(wide), float(low), replaced).astype(values.dtype)
