"""Smooth activations and their backward operators."""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.pointwise.forms import conjugate, unary
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import first_dtype, pointwise, pointwise_spec, promoted, refusing
from thunk.types.spec import TensorSpec

_inexact = refusing(first_dtype, "bool integral complex")
_backward = pointwise(promoted, 2)
_PARTS = "function inplace out"
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946

declare(
    "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    doc="`scale * self` above zero, `scale * alpha * expm1(input_scale * self)` below.",
    spec=pointwise(_inexact),
    vjp={
        "self": lambda grad, self, alpha, scale, input_scale: t.elu_backward(
            grad, alpha, scale, input_scale, False, self
        )
    },
    variants=_PARTS,
    module="nn",
)


def _elu_backward(
    grad_output: TensorSpec, alpha: Any, scale: Any, input_scale: Any, is_result: bool,
    self_or_result: TensorSpec,
) -> TensorSpec:  # fmt: skip
    if is_result and alpha < 0:
        raise Mismatch(
            "In-place elu backward calculation is triggered with a negative slope which is not "
            "supported; call out-of-place forward instead"
        )
    return pointwise_spec((grad_output, self_or_result))


def _elu_curvature(
    grad: Any, grad_output: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool,
    self_or_result: Any,
) -> Any:  # fmt: skip
    slope = t.elu_backward(
        grad * grad_output * input_scale, alpha, scale, input_scale, is_result, self_or_result
    )
    return slope * (self_or_result < 0)


declare(
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, "
    "bool is_result, Tensor self_or_result) -> Tensor",
    doc="The gradient of elu, from its input or its result.",
    spec=_elu_backward,
    vjp={
        "grad_output": lambda grad, alpha, scale, input_scale, is_result, self_or_result: (
            t.elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result)
        ),
        "self_or_result": _elu_curvature,
    },
    variants="",
)


@composite("celu(Tensor self, Scalar alpha=1.0) -> Tensor", variants="function inplace")
def celu(self: Any, alpha: Any = 1.0) -> Any:
    """`self` above zero, `alpha * expm1(self / alpha)` below."""
    if alpha == 0:
        raise RuntimeError("celu: ZeroDivisionError: expected an alpha that is not 0, got 0")
    return t.elu(self, alpha, 1.0, 1.0 / alpha)


@composite("selu(Tensor self) -> Tensor", variants="function inplace")
def selu(self: Any) -> Any:
    """elu with the two constants that keep mean and variance."""
    return t.elu(self, _SELU_ALPHA, _SELU_SCALE)


def _gelu(self: TensorSpec, approximate: str) -> TensorSpec:
    if approximate not in ("none", "tanh"):
        raise Mismatch(f"approximate argument must be either none or tanh, got {approximate!r}")
    return pointwise(_inexact)(self)


declare(
    "gelu(Tensor self, *, str approximate='none') -> Tensor",
    doc="`self` times the normal distribution's function of it, exact or by tanh.",
    spec=_gelu,
    vjp={
        "self": lambda grad, self, approximate: t.gelu_backward(
            grad, self, approximate=approximate
        )
    },
    variants=_PARTS,
    module="nn",
)


def _gelu_curvature(grad: Any, grad_output: Any, self: Any, approximate: str) -> Any:
    if approximate == "none":
        density = t.exp(-0.5 * self * self) / math.sqrt(2 * math.pi)
        return grad * grad_output * density * (2 - self * self)
    factor, cubic = math.sqrt(2 / math.pi), 0.044715
    square = self * self
    inner = t.tanh(factor * (self + cubic * square * self))
    slope = factor * (1 + 3 * cubic * square)
    bend = factor * 6 * cubic * self
    around = 1 - inner * inner
    second = around * (slope + 0.5 * self * (bend - 2 * inner * slope * slope))
    return grad * grad_output * second


declare(
    "gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor",
    doc="The gradient of gelu.",
    spec=lambda grad_output, self, approximate: _backward(grad_output, self),
    vjp={
        "grad_output": lambda grad, self, approximate: t.gelu_backward(
            grad, self, approximate=approximate
        ),
        "self": _gelu_curvature,
    },
    variants="",
)

unary(
    "silu",
    "`self * sigmoid(self)`.",
    lambda grad, self: t.silu_backward(grad, self),
    rule=refusing(first_dtype, "bool integral"),
    variants=_PARTS,
    module="nn",
)


def _silu_curvature(grad: Any, grad_output: Any, self: Any) -> Any:
    level = t.sigmoid(self)
    curvature = level * (1 - level) * (2 + self * (1 - 2 * level))
    return grad * conjugate(conjugate(grad_output) * curvature)


declare(
    "silu_backward(Tensor grad_output, Tensor self) -> Tensor",
    doc="The gradient of silu.",
    spec=_backward,
    vjp={
        "grad_output": lambda grad, self: t.silu_backward(grad, conjugate(self)),
        "self": _silu_curvature,
    },
    variants="",
)

unary(
    "mish",
    "`self * tanh(softplus(self))`.",
    lambda grad, self: t.mish_backward(grad, self),
    rule=_inexact,
    variants=_PARTS,
    module="nn",
)


def _mish_curvature(grad: Any, grad_output: Any, self: Any) -> Any:
    inner = t.tanh(t.softplus(self))
    level = t.sigmoid(self)
    around = 1 - inner * inner
    slope = around * level
    second = 2 * slope + self * (
        -2 * inner * slope * level + around * level * (1 - level)
    )
    return grad * grad_output * second


declare(
    "mish_backward(Tensor grad_output, Tensor self) -> Tensor",
    doc="The gradient of mish.",
    spec=_backward,
    vjp={
        "grad_output": lambda grad, self: t.mish_backward(grad, self),
        "self": _mish_curvature,
    },
    variants="",
)

declare(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    doc="`log(1 + exp(beta * self)) / beta`; `self` where `beta * self` is above `threshold`.",
    spec=pointwise(_inexact),
    vjp={
        "self": lambda grad, self, beta, threshold: t.softplus_backward(
            grad, self, beta, threshold
        )
    },
    variants="function out",
    module="nn",
)


def _softplus_curvature(
    grad: Any, grad_output: Any, self: Any, beta: Any, threshold: Any
) -> Any:
    scaled = self * beta
    curvature = t.sigmoid_backward(grad * grad_output, t.sigmoid(scaled)) * beta
    return t.where(scaled < threshold, curvature, t.zeros_like(curvature))


declare(
    "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
    doc="The gradient of softplus.",
    spec=_backward,
    vjp={
        "grad_output": lambda grad, self, beta, threshold: t.softplus_backward(
            grad, self, beta, threshold
        ),
        "self": _softplus_curvature,
    },
    variants="",
)


def _log_sigmoid_forward(self: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    output = pointwise(_inexact)(self)
    return output, output


@composite("log_sigmoid(Tensor self) -> Tensor", variants="function out", module="nn")
def log_sigmoid(self: Any) -> Any:
    """`log(sigmoid(self))` without overflow."""
    return t.log_sigmoid_forward(self)[0]


declare(
    "log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
    doc="log_sigmoid, and `exp(-|self|)` for its gradient.",
    spec=_log_sigmoid_forward,
    vjp={
        "self": lambda grad, self, result1: t.log_sigmoid_backward(grad, self, result1.detach())
    },
    variants="",
)


def _log_sigmoid_curvature(grad: Any, grad_output: Any, self: Any) -> Any:
    level = t.sigmoid(self)
    return grad * grad_output * (level - 1) * level


declare(
    "log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
    doc="The gradient of log_sigmoid.",
    spec=lambda grad_output, self, buffer: _backward(grad_output, self),
    vjp={
        "grad_output": lambda grad, self, buffer: t.log_sigmoid_backward(grad, self, buffer),
        "self": _log_sigmoid_curvature,
    },
    variants="",
)
