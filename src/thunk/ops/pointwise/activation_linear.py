"""Activations made of straight pieces, and their backward operators."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.pointwise.forms import no_slope, unary
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import first_dtype, pointwise, promoted, refusing
from thunk.types.dtype import dtype
from thunk.types.spec import TensorSpec

_inexact = refusing(first_dtype, "bool integral complex")
_backward = pointwise(promoted, 2)
_PARTS = "function inplace out"


def _straight_backward(schema: str, doc: str, again: Any) -> None:
    """Declare a backward operator that is linear in the gradient and flat in the input."""
    first = schema[schema.index("Tensor ") + 7 : schema.index(",")]
    declare(schema, doc=doc, spec=_backward, vjp={first: again, "self": no_slope}, variants="")


def _relu_dtype(operands: Any) -> dtype:
    if operands[0].dtype.name == "bool":
        raise Mismatch("Boolean inputs not supported for relu; convert it to a number first")
    return refusing(first_dtype, "complex")(operands)


unary(
    "relu",
    "`max(self, 0)`.",
    lambda grad, result: t.threshold_backward(grad, result, 0),
    rule=_relu_dtype,
    variants="function method inplace out",
)


@composite("relu6(Tensor self) -> Tensor", variants="function inplace", module="nn")
def relu6(self: Any) -> Any:
    """`self` held between 0 and 6."""
    return t.hardtanh(self, 0, 6)


declare(
    "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
    doc="`self` where it is above `threshold`, else `value`.",
    spec=pointwise(refusing(first_dtype, "bool complex")),
    vjp={"self": lambda grad, self, threshold: t.threshold_backward(grad, self, threshold)},
    variants=_PARTS,
)
_straight_backward(
    "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
    "The gradient where `self` is above `threshold`.",
    lambda grad, self, threshold: t.threshold_backward(grad, self, threshold),
)

declare(
    "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    doc="`self` above zero, a fraction of it below.",
    spec=pointwise(_inexact),
    vjp={
        "self": lambda grad, self, negative_slope: t.leaky_relu_backward(
            grad, self, negative_slope, False
        )
    },
    variants=_PARTS,
    module="nn",
)
_straight_backward(
    "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, "
    "bool self_is_result) -> Tensor",
    "The gradient of leaky_relu.",
    lambda grad, self, negative_slope, self_is_result: t.leaky_relu_backward(
        grad, self, negative_slope, self_is_result
    ),
)


def _hardtanh(self: TensorSpec, min_val: Any, max_val: Any) -> TensorSpec:
    if self.dtype.name == "bool":
        raise Mismatch("Bool inputs not supported for hardtanh; convert it to a number first")
    if not self.dtype.is_signed and min_val < 0:
        raise Mismatch("cannot do hardtanh on an unsigned type with negative limits")
    if min_val > max_val:
        raise Mismatch("min_val cannot be greater than max_val", ValueError)
    return pointwise(refusing(first_dtype, "complex"))(self)


declare(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    doc="`self` held between two numbers.",
    spec=_hardtanh,
    vjp={
        "self": lambda grad, self, min_val, max_val: t.hardtanh_backward(
            grad, self, min_val, max_val
        )
    },
    variants=_PARTS,
    module="nn",
)
_straight_backward(
    "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
    "The gradient strictly between the bounds.",
    lambda grad, self, min_val, max_val: t.hardtanh_backward(grad, self, min_val, max_val),
)

unary(
    "hardsigmoid",
    "`(self + 3) / 6`, held between 0 and 1.",
    lambda grad, self: t.hardsigmoid_backward(grad, self),
    rule=_inexact,
    variants=_PARTS,
    module="nn",
)
_straight_backward(
    "hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
    "A sixth of the gradient between -3 and 3.",
    lambda grad, self: t.hardsigmoid_backward(grad, self),
)

unary(
    "hardswish",
    "`self * hardsigmoid(self)`.",
    lambda grad, self: t.hardswish_backward(grad, self),
    rule=_inexact,
    variants=_PARTS,
    module="nn",
)


def _hardswish_curvature(grad: Any, grad_output: Any, self: Any) -> Any:
    bent = (self > -3).logical_and(self < 3)
    slope = grad * grad_output / 3
    return t.where(bent, slope, t.zeros_like(slope))


declare(
    "hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
    doc="The gradient of hardswish.",
    spec=_backward,
    vjp={
        "grad_output": lambda grad, self: t.hardswish_backward(grad, self),
        "self": _hardswish_curvature,
    },
    variants="",
)

declare(
    "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    doc="`self`, but 0 where it is at most `lambd` from 0.",
    spec=pointwise(_inexact),
    vjp={"self": lambda grad, self, lambd: t.hardshrink_backward(grad, self, lambd)},
    variants="function method out",
)
_straight_backward(
    "hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
    "The gradient where `self` is more than `lambd` from 0.",
    lambda grad, self, lambd: t.hardshrink_backward(grad, self, lambd),
)


def _softshrink(self: TensorSpec, lambd: Any) -> TensorSpec:
    if lambd < 0:
        raise Mismatch(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return pointwise(_inexact)(self)


declare(
    "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    doc="`self` moved towards 0 by `lambd`.",
    spec=_softshrink,
    vjp={"self": lambda grad, self, lambd: t.softshrink_backward(grad, self, lambd)},
    variants="function out",
    module="nn",
)
_straight_backward(
    "softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
    "The gradient where `self` is more than `lambd` from 0.",
    lambda grad, self, lambd: t.softshrink_backward(grad, self, lambd),
)
