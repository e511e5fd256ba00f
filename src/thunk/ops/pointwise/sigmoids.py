"""S-shaped functions and their backward operators: sigmoid, tanh, logit."""

from __future__ import annotations

from typing import Any

from thunk.ops.declare import alias, declare
from thunk.ops.pointwise.forms import EVERY_FORM, conjugate, unary
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import pointwise, promoted, promoted_to_inexact, refusing

unary("sigmoid", "`1 / (1 + exp(-self))`.", lambda grad, result: t.sigmoid_backward(grad, result))
alias("special_expit", "sigmoid", module="special", variants="function out")

declare(
    "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
    doc="The gradient of sigmoid, from its result.",
    spec=pointwise(promoted, 2),
    vjp={
        "grad_output": lambda grad, output: t.sigmoid_backward(grad, conjugate(output)),
        "output": lambda grad, grad_output, output: (
            conjugate(grad_output) * grad * (1 - 2 * output)
            if not output._spec.dtype.is_complex
            else conjugate(grad) * grad_output * (1 - 2 * conjugate(output))
        ),
    },
    variants="",
)
declare(
    "tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
    doc="The gradient of tanh, from its result.",
    spec=pointwise(promoted, 2),
    vjp={
        "grad_output": lambda grad, output: t.tanh_backward(grad, conjugate(output)),
        "output": lambda grad, grad_output, output: (
            conjugate(grad) * (-2 * conjugate(output) * grad_output)
        ),
    },
    variants="",
)

_REAL = refusing(promoted_to_inexact, "complex")

declare(
    "logit(Tensor self, float? eps=None) -> Tensor",
    doc="`log(self / (1 - self))`, of `self` held between eps and 1 - eps if eps is given.",
    spec=pointwise(_REAL),
    vjp={"self": lambda grad, self, eps: t.logit_backward(grad, self, eps)},
    variants=EVERY_FORM,
)
alias("special_logit", "logit", module="special", variants="function out")


def _logit_curvature(grad: Any, grad_output: Any, self: Any, eps: Any) -> Any:
    slope = t.logit_backward(grad * grad_output, self, eps)
    return slope * (2 * self - 1) / (self * (1 - self))


declare(
    "logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
    doc="The gradient of logit.",
    spec=pointwise(promoted, 2),
    vjp={
        "grad_output": lambda grad, self, eps: t.logit_backward(grad, self, eps),
        "self": _logit_curvature,
    },
    variants="",
)
