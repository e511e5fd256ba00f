"""Absolute values and signs."""

from __future__ import annotations

from typing import Any

from thunk.ir.opdef import NoGradient
from thunk.ops.declare import alias, declare
from thunk.ops.pointwise.forms import EVERY_FORM, conjugate, no_slope, unary
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import (
    always_bool,
    first_dtype,
    pointwise,
    promoted_to_inexact,
    promoted_to_real,
    refusing,
)

unary(
    "abs",
    "Absolute value; the modulus of complex numbers.",
    lambda grad, self: grad * t.sgn(self),
    rule=refusing(promoted_to_real, "bool"),
)
alias("absolute", "abs")

unary(
    "sign",
    "-1, 0 or 1 by the sign of each element.",
    no_slope,
    rule=refusing(first_dtype, "complex"),
)


def _to_sgn(grad: Any, self: Any, result: Any) -> Any:
    if not self._spec.dtype.is_complex:
        return t.zeros_like(grad)
    along = t.real(grad * conjugate(result))
    turned = (grad - along * result) / self.abs()
    return t.where(self == 0, t.zeros_like(turned), turned)


unary("sgn", "The sign; for complex numbers the direction.", _to_sgn, rule=first_dtype)

declare(
    "signbit(Tensor self) -> Tensor",
    doc="Where the sign is negative, that of zero and NaN included.",
    spec=pointwise(refusing(always_bool, "complex")),
    vjp=NoGradient("the result is boolean"),
    variants="function method out exact",
)


def _to_size(grad: Any, self: Any, result: Any) -> Any:
    ratio = result / self
    return grad * t.where(self == 0, t.zeros_like(ratio), ratio)


declare(
    "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
    doc="The size of `self` with the sign of `other`.",
    spec=pointwise(refusing(promoted_to_inexact, "complex"), 2),
    vjp={"self": _to_size, "other": no_slope},
    variants=EVERY_FORM,
    numbers="other",
)
