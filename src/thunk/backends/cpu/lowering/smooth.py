"""Smooth activations and their gradients."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from thunk.backends.cpu.lowering.pointwise import Operands, pointwise
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Unsupported, lowering

_ROOT_HALF = sqrt(0.5)
_TANH_FACTOR, _TANH_CUBIC = sqrt(2 / pi), 0.044715


def logistic(value: Expression) -> Expression:
    """1 / (1 + exp(-value))."""
    return 1 / (1 + (-value).math("exp"))


@pointwise("sigmoid", needs="exp")
def sigmoid(to: Operands, self: Any) -> Expression:
    return logistic(to(self))


@pointwise("sigmoid_backward")
def sigmoid_backward(to: Operands, grad: Any, output: Any) -> Expression:
    return to(grad) * ((1 - to(output)) * to(output))


@pointwise("tanh_backward")
def tanh_backward(to: Operands, grad: Any, output: Any) -> Expression:
    return to(grad) * (1 - to(output) * to(output))


@pointwise("logit", needs="log")
def logit(to: Operands, self: Any, eps: Any) -> Expression:
    value = to(self)
    if eps is not None:
        bound = to.domain.number(eps, to.element)
        value = value.maximum(bound).minimum(1 - bound)
    return (value / (1 - value)).math("log")


@pointwise("logit_backward")
def logit_backward(to: Operands, grad: Any, self: Any, eps: Any) -> Expression:
    value = to(self)
    slope = to(grad) / (value * (1 - value))
    if eps is None:
        return ((value < 0) | (value > 1)).where(float("nan"), slope)
    bound = to.domain.number(eps, to.element)
    return ((value < bound) | (value > 1 - bound)).where(0, slope)


@pointwise("elu", needs="expm1")
def elu(to: Operands, self: Any, alpha: Any, scale: Any, input_scale: Any) -> Expression:
    below = to.scalar(alpha) * to.scalar(scale)
    curve = (to(self) * to.scalar(input_scale)).math("expm1") * below
    return (to(self) <= 0).where(curve, to(self) * to.scalar(scale))


@pointwise("elu_backward", needs="exp")
def elu_backward(
    to: Operands, grad: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool,
    value: Any,
) -> Expression:  # fmt: skip
    factor, inner = to.scalar(alpha) * to.scalar(scale), to.scalar(input_scale)
    given = to(value)
    curve = given + factor if is_result else factor * (given * inner).math("exp")
    return (given <= 0).where(to(grad) * inner * curve, to(grad) * to.scalar(scale))


@pointwise("gelu", needs="erf tanh")
def gelu(to: Operands, self: Any, approximate: str) -> Expression:
    value = to(self)
    if approximate == "tanh":
        inner = _TANH_FACTOR * (value + _TANH_CUBIC * (value * value * value))
        return 0.5 * value * (1 + inner.math("tanh"))
    return 0.5 * value * (1 + (value * _ROOT_HALF).math("erf"))


@pointwise("gelu_backward", needs="erf tanh exp")
def gelu_backward(to: Operands, grad: Any, self: Any, approximate: str) -> Expression:
    value = to(self)
    if approximate == "tanh":
        inner = (_TANH_FACTOR * (value + _TANH_CUBIC * (value * value * value))).math("tanh")
        slope = _TANH_FACTOR * (1 + 3 * _TANH_CUBIC * (value * value))
        change = 0.5 * (1 + inner) + 0.5 * value * (1 - inner * inner) * slope
    else:
        density = (-0.5 * (value * value)).math("exp") * (1 / sqrt(2 * pi))
        change = 0.5 * (1 + (value * _ROOT_HALF).math("erf")) + value * density
    return to(grad) * change


@pointwise("silu", needs="exp")
def silu(to: Operands, self: Any) -> Expression:
    return to(self) / (1 + (-to(self)).math("exp"))


@pointwise("silu_backward", needs="exp")
def silu_backward(to: Operands, grad: Any, self: Any) -> Expression:
    level = logistic(to(self))
    return to(grad) * (level * (1 + to(self) * (1 - level)))


def _soft(value: Expression) -> Expression:
    """log(1 + exp(value)), without overflow."""
    return value.maximum(0) + (-value.unary("abs")).math("exp").math("log1p")


@pointwise("mish", needs="exp log1p tanh")
def mish(to: Operands, self: Any) -> Expression:
    return to(self) * _soft(to(self)).math("tanh")


@pointwise("mish_backward", needs="exp log1p tanh")
def mish_backward(to: Operands, grad: Any, self: Any) -> Expression:
    value = to(self)
    inner = _soft(value).math("tanh")
    return to(grad) * (inner + value * logistic(value) * (1 - inner * inner))


@pointwise("softplus", needs="exp log1p")
def softplus(to: Operands, self: Any, beta: Any, limit: Any) -> Expression:
    scaled = to(self) * to.scalar(beta)
    soft = scaled.math("exp").math("log1p") / to.scalar(beta)
    return (scaled > to.scalar(limit)).where(to(self), soft)


@pointwise("softplus_backward", needs="exp")
def softplus_backward(to: Operands, grad: Any, self: Any, beta: Any, limit: Any) -> Expression:
    scaled = to(self) * to.scalar(beta)
    return (scaled > to.scalar(limit)).where(to(grad), to(grad) * logistic(scaled))


@lowering("log_sigmoid_forward")
def log_sigmoid_forward(at: At, self: Any) -> None:
    at.math_known("exp log1p")
    if at.node.outputs[1].spec.shape != at.result.shape:
        raise Unsupported("a buffer of another shape")
    domain = at.points()
    value = Operands(at, domain)(self)
    buffer = domain.named((-value.unary("abs")).math("exp"))
    domain.store(value.minimum(0) - buffer.math("log1p"), 0)
    domain.store(buffer, 1)


@pointwise("log_sigmoid_backward")
def log_sigmoid_backward(to: Operands, grad: Any, self: Any, buffer: Any) -> Expression:
    if buffer.spec.shape != self.spec.shape:
        raise Unsupported("a buffer of another shape")
    share = to(buffer) / (1 + to(buffer))
    return to(grad) * (to(self) < 0).where(1 - share, share)
