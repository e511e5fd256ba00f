"""Activations made of straight pieces, and their gradients."""

from __future__ import annotations

from typing import Any

from thunk.backends.cpu.lowering.pointwise import Operands, pointwise
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, lowering
from thunk.ir.graph import Value


@pointwise("relu")
def relu(to: Operands, self: Any) -> Expression:
    return to(self).maximum(0)


@pointwise("threshold")
def threshold(to: Operands, self: Any, limit: Any, value: Any) -> Expression:
    return (to(self) <= to.scalar(limit)).where(to.scalar(value), to(self))


@pointwise("threshold_backward")
def threshold_backward(to: Operands, grad: Any, self: Any, limit: Any) -> Expression:
    return (to(self) <= to.scalar(limit)).where(0, to(grad))


@pointwise("leaky_relu")
def leaky_relu(to: Operands, self: Any, slope: Any) -> Expression:
    return (to(self) > 0).where(to(self), to(self) * to.scalar(slope))


@pointwise("leaky_relu_backward")
def leaky_relu_backward(
    to: Operands, grad: Any, self: Any, slope: Any, self_is_result: bool
) -> Expression:
    return (to(self) > 0).where(to(grad), to(grad) * to.scalar(slope))


@pointwise("hardtanh")
def hardtanh(to: Operands, self: Any, low: Any, high: Any) -> Expression:
    return to(self).maximum(to.scalar(low)).minimum(to.scalar(high))


@pointwise("hardtanh_backward")
def hardtanh_backward(to: Operands, grad: Any, self: Any, low: Any, high: Any) -> Expression:
    outside = (to(self) <= to.scalar(low)) | (to(self) >= to.scalar(high))
    return outside.where(0, to(grad))


@pointwise("hardsigmoid")
def hardsigmoid(to: Operands, self: Any) -> Expression:
    return (to(self) + 3).maximum(0).minimum(6) / 6


@pointwise("hardsigmoid_backward")
def hardsigmoid_backward(to: Operands, grad: Any, self: Any) -> Expression:
    return ((to(self) > -3) & (to(self) < 3)).where(to(grad) / 6, 0)


@pointwise("hardswish")
def hardswish(to: Operands, self: Any) -> Expression:
    return to(self) * (to(self) + 3).maximum(0).minimum(6) / 6


@pointwise("hardswish_backward")
def hardswish_backward(to: Operands, grad: Any, self: Any) -> Expression:
    value = to(self)
    inside = (value < 3).where(to(grad) * (value / 3 + 0.5), to(grad))
    return (value <= -3).where(0, inside)


@pointwise("hardshrink")
def hardshrink(to: Operands, self: Any, lambd: Any) -> Expression:
    limit = to.scalar(lambd)
    return ((to(self) >= -limit) & (to(self) <= limit)).where(0, to(self))


@pointwise("softshrink")
def softshrink(to: Operands, self: Any, lambd: Any) -> Expression:
    value, step = to(self), to.scalar(lambd)
    shrunk = (value > step).where(value - step, (value < -step).where(value + step, 0))
    return value.ne(value).where(value, shrunk)


@pointwise("hardshrink_backward", "softshrink_backward")
def shrink_backward(to: Operands, grad: Any, self: Any, lambd: Any) -> Expression:
    limit = to.scalar(lambd)
    return ((to(self) >= -limit) & (to(self) <= limit)).where(0, to(grad))


@pointwise("_prelu_kernel")
def prelu(to: Operands, self: Any, weight: Any) -> Expression:
    return (to(self) > 0).where(to(self), to(weight) * to(self))


@lowering("_prelu_kernel_backward")
def prelu_backward(at: At, grad: Any, self: Any, weight: Any) -> None:
    domain = at.points()
    to = Operands(at, domain)
    above = to(self) > 0
    domain.store(above.where(to(grad), to(weight) * to(grad)), 0)
    domain.store(above.where(0, to(self) * to(grad)), 1)


@lowering("glu")
def glu(at: At, self: Value, dim: int) -> None:
    """The first half along a dimension, scaled by the sigmoid of the second."""
    at.math_known("sigmoid")
    domain = at.points()
    spec = self.spec
    dim %= len(spec.shape)
    half = domain.sizes[dim] * spec.strides[dim]
    value, gate = (
        at.lower.load(Access(at.lower.buffer(self), spec.dtype, spec.strides, spec.offset + start))
        for start in (0, half)
    )
    domain.store(value * gate.math("sigmoid"))
