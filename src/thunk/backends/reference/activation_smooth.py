"""NumPy rules of smooth activations and of sigmoid, tanh and logit backwards."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.pointwise_operands import operand
from thunk.backends.reference.special_errors import erf, erfc
from thunk.types.spec import TensorSpec

_ROOT_HALF = numpy.sqrt(0.5)
_TANH_FACTOR, _TANH_CUBIC = numpy.sqrt(2 / numpy.pi), 0.044715


def logistic(values: Any) -> Any:
    """1 / (1 + exp(-values)), in the dtype of `values`."""
    return 1 / (1 + numpy.exp(-values))


@rule("sigmoid")
def sigmoid(spec: TensorSpec, self: Any) -> Any:
    return logistic(operand(self, spec.dtype))


@rule("sigmoid_backward", half="float32")
def sigmoid_backward(spec: TensorSpec, grad: Any, output: Any) -> Any:
    return grad * numpy.conjugate((1 - output) * output)


@rule("tanh_backward", half="float32")
def tanh_backward(spec: TensorSpec, grad: Any, output: Any) -> Any:
    return grad * numpy.conjugate(1 - output * output)


@rule("logit")
def logit(spec: TensorSpec, self: Any, eps: float | None) -> Any:
    values = operand(self, spec.dtype)
    if eps is not None:
        low, high = numpy.asarray([eps, 1 - eps], values.dtype)
        values = numpy.minimum(numpy.maximum(values, low), high)
    return numpy.log(values / (1 - values))


@rule("logit_backward", half="float32")
def logit_backward(spec: TensorSpec, grad: Any, self: Any, eps: float | None) -> Any:
    slope = grad / (self * (1 - self))
    if eps is None:
        return numpy.where((self < 0) | (self > 1), numpy.nan, slope)
    return numpy.where((self < eps) | (self > 1 - eps), 0, slope)


@rule("elu", half="float32")
def elu(spec: TensorSpec, self: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    below, above, inner = numpy.asarray([alpha * scale, scale, input_scale], self.dtype)
    return numpy.where(self <= 0, numpy.expm1(self * inner) * below, self * above)


@rule("elu_backward", half="float32")
def elu_backward(
    spec: TensorSpec, grad: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool,
    value: Any,
) -> Any:  # fmt: skip
    factor, above, inner = numpy.asarray([alpha * scale, scale, input_scale], grad.dtype)
    curve = value + factor if is_result else factor * numpy.exp(value * inner)
    return numpy.where(value <= 0, grad * inner * curve, grad * above)


@rule("gelu", half="float32")
def gelu(spec: TensorSpec, self: Any, approximate: str) -> Any:
    values = self.astype(numpy.float64)
    if approximate == "tanh":
        inner = _TANH_FACTOR * (values + _TANH_CUBIC * values**3)
        return (0.5 * values * (1 + numpy.tanh(inner))).astype(self.dtype)
    return (0.5 * values * erfc(-values * _ROOT_HALF)).astype(self.dtype)


@rule("gelu_backward", half="float32")
def gelu_backward(spec: TensorSpec, grad: Any, self: Any, approximate: str) -> Any:
    values = self.astype(numpy.float64)
    if approximate == "tanh":
        inner = numpy.tanh(_TANH_FACTOR * (values + _TANH_CUBIC * values**3))
        slope = _TANH_FACTOR * (1 + 3 * _TANH_CUBIC * values * values)
        change = 0.5 * (1 + inner) + 0.5 * values * (1 - inner * inner) * slope
    else:
        density = numpy.exp(-0.5 * values * values) / numpy.sqrt(2 * numpy.pi)
        change = 0.5 * (1 + erf(values * _ROOT_HALF)) + values * density
    return grad * change.astype(self.dtype)


@rule("silu", half="float32")
def silu(spec: TensorSpec, self: Any) -> Any:
    return self / (1 + numpy.exp(-self))


@rule("silu_backward", half="float32")
def silu_backward(spec: TensorSpec, grad: Any, self: Any) -> Any:
    level = logistic(self)
    return grad * numpy.conjugate(level * (1 + self * (1 - level)))


@rule("mish", half="float32")
def mish(spec: TensorSpec, self: Any) -> Any:
    return self * numpy.tanh(numpy.logaddexp(self, 0))


@rule("mish_backward", half="float32")
def mish_backward(spec: TensorSpec, grad: Any, self: Any) -> Any:
    inner = numpy.tanh(numpy.logaddexp(self, 0))
    return grad * (inner + self * logistic(self) * (1 - inner * inner))


@rule("softplus", half="float32")
def softplus(spec: TensorSpec, self: Any, beta: Any, threshold: Any) -> Any:
    factor = numpy.asarray(beta, self.dtype)
    scaled = self * factor
    return numpy.where(scaled > threshold, self, numpy.log1p(numpy.exp(scaled)) / factor)


@rule("softplus_backward", half="float32")
def softplus_backward(spec: TensorSpec, grad: Any, self: Any, beta: Any, threshold: Any) -> Any:
    scaled = self * numpy.asarray(beta, self.dtype)
    return numpy.where(scaled > threshold, grad, grad * logistic(scaled))


@rule("log_sigmoid_forward", half="float32")
def log_sigmoid_forward(specs: Any, self: Any) -> Any:
    buffer = numpy.exp(-numpy.abs(self))
    return numpy.minimum(self, 0) - numpy.log1p(buffer), buffer


@rule("log_sigmoid_backward", half="float32")
def log_sigmoid_backward(spec: TensorSpec, grad: Any, self: Any, buffer: Any) -> Any:
    share = buffer / (1 + buffer)
    return grad * numpy.where(self < 0, 1 - share, share)


@rule("glu", half="float32")
def glu(spec: TensorSpec, self: Any, dim: int) -> Any:
    value, gate = numpy.split(self, 2, axis=dim)
    return value * logistic(gate)
