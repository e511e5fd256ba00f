"""NumPy rules of activations made of straight pieces."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


@rule("relu", half="float32")
def relu(spec: TensorSpec, self: Any) -> Any:
    return numpy.maximum(self, numpy.zeros((), self.dtype))


@rule("threshold", half="float32")
def threshold(spec: TensorSpec, self: Any, limit: Any, value: Any) -> Any:
    return numpy.where(self <= limit, numpy.asarray(value).astype(self.dtype), self)


@rule("threshold_backward", half="float32")
def threshold_backward(spec: TensorSpec, grad: Any, self: Any, limit: Any) -> Any:
    return numpy.where(self <= limit, 0, grad)


@rule("leaky_relu", half="float32")
def leaky_relu(spec: TensorSpec, self: Any, slope: Any) -> Any:
    return numpy.where(self > 0, self, self * numpy.asarray(slope, self.dtype))


@rule("leaky_relu_backward", half="float32")
def leaky_relu_backward(
    spec: TensorSpec, grad: Any, self: Any, slope: Any, self_is_result: bool
) -> Any:
    return numpy.where(self > 0, grad, grad * numpy.asarray(slope, grad.dtype))


@rule("hardtanh", half="float32")
def hardtanh(spec: TensorSpec, self: Any, low: Any, high: Any) -> Any:
    low, high = (numpy.asarray(bound).astype(self.dtype) for bound in (low, high))
    return numpy.minimum(numpy.maximum(self, low), high)


@rule("hardtanh_backward", half="float32")
def hardtanh_backward(spec: TensorSpec, grad: Any, self: Any, low: Any, high: Any) -> Any:
    return numpy.where((self <= low) | (self >= high), 0, grad)


@rule("hardsigmoid", half="float32")
def hardsigmoid(spec: TensorSpec, self: Any) -> Any:
    return numpy.minimum(numpy.maximum(self + 3, 0), 6) / 6


@rule("hardsigmoid_backward", half="float32")
def hardsigmoid_backward(spec: TensorSpec, grad: Any, self: Any) -> Any:
    return numpy.where((self > -3) & (self < 3), grad / 6, 0)


@rule("hardswish", half="float32")
def hardswish(spec: TensorSpec, self: Any) -> Any:
    return self * numpy.minimum(numpy.maximum(self + 3, 0), 6) / 6


@rule("hardswish_backward", half="float32")
def hardswish_backward(spec: TensorSpec, grad: Any, self: Any) -> Any:
    inside = numpy.where(self < 3, grad * (self / 3 + 0.5), grad)
    return numpy.where(self <= -3, 0, inside)


@rule("hardshrink", half="float32")
def hardshrink(spec: TensorSpec, self: Any, lambd: Any) -> Any:
    return numpy.where((self >= -lambd) & (self <= lambd), 0, self)


@rule("softshrink", half="float32")
def softshrink(spec: TensorSpec, self: Any, lambd: Any) -> Any:
    step = numpy.asarray(lambd, self.dtype)
    shrunk = numpy.where(self > lambd, self - step, numpy.where(self < -lambd, self + step, 0))
    return numpy.where(numpy.isnan(self), self, shrunk)


@rule("hardshrink_backward", "softshrink_backward", half="float32")
def shrink_backward(spec: TensorSpec, grad: Any, self: Any, lambd: Any) -> Any:
    return numpy.where((self >= -lambd) & (self <= lambd), 0, grad)


@rule("_prelu_kernel", half="float32")
def prelu(spec: TensorSpec, self: Any, weight: Any) -> Any:
    return numpy.where(self > 0, self, weight * self)


@rule("_prelu_kernel_backward", half="float32")
def prelu_backward(specs: Any, grad: Any, self: Any, weight: Any) -> Any:
    above = self > 0
    return numpy.where(above, grad, weight * grad), numpy.where(above, 0, self * grad)
