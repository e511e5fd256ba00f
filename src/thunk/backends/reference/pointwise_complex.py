"""NumPy rules that make complex numbers and take them apart."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.pointwise_operands import is_complex, operand
from thunk.types.spec import TensorSpec


@rule("_conj_physical")
def conj_physical(spec: TensorSpec, self: Any) -> Any:
    return numpy.conjugate(self) if is_complex(self) else self


@rule("angle", half="float32")
def angle(spec: TensorSpec, self: Any) -> Any:
    if is_complex(self):
        return numpy.angle(self)
    values = operand(self, spec.dtype)
    return numpy.where(numpy.isnan(values), values, numpy.where(values < 0, numpy.pi, 0.0))


@rule("complex")
def make_complex(spec: TensorSpec, real: Any, imag: Any) -> Any:
    result = numpy.empty(spec.shape, spec.dtype.numpy)
    result.real = real
    result.imag = imag
    return result


@rule("polar")
def polar(spec: TensorSpec, size: Any, direction: Any) -> Any:
    return make_complex(spec, size * numpy.cos(direction), size * numpy.sin(direction))
