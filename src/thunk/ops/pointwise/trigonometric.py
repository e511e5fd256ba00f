"""Circular and hyperbolic functions, their inverses, and angles in degrees."""

from __future__ import annotations

import math
from typing import Any

from thunk.ops.declare import alias, composite
from thunk.ops.pointwise.forms import EVERY_FORM, binary, conjugate, unary
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import promoted_to_inexact, refusing

unary("sin", "Sine.", lambda grad, self: grad * conjugate(self.cos()))
unary("cos", "Cosine.", lambda grad, self: grad * -conjugate(self.sin()))
unary("tan", "Tangent.", lambda grad, result: grad * conjugate(1 + result * result))
unary("sinh", "Hyperbolic sine.", lambda grad, self: grad * conjugate(self.cosh()))
unary("cosh", "Hyperbolic cosine.", lambda grad, self: grad * conjugate(self.sinh()))
unary("tanh", "Hyperbolic tangent.", lambda grad, result: t.tanh_backward(grad, result))

unary(
    "asin",
    "Inverse sine.",
    lambda grad, self: grad * conjugate((-self * self + 1).rsqrt()),
)
unary(
    "acos",
    "Inverse cosine.",
    lambda grad, self: grad * -conjugate((-self * self + 1).rsqrt()),
)
unary("atan", "Inverse tangent.", lambda grad, self: grad / conjugate(self * self + 1))
unary(
    "asinh",
    "Inverse hyperbolic sine.",
    lambda grad, self: grad * conjugate((self * self + 1).rsqrt()),
)


def _to_acosh(grad: Any, self: Any) -> Any:
    if self._spec.dtype.is_complex:
        # The two roots apart, as their product's branch is the wrong one.
        return grad * conjugate((self + 1).rsqrt() * (self - 1).rsqrt())
    return grad * (self * self - 1).rsqrt()


unary("acosh", "Inverse hyperbolic cosine.", _to_acosh)
unary(
    "atanh",
    "Inverse hyperbolic tangent.",
    lambda grad, self: grad * conjugate(1 / (1 - self * self)),
)
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    alias(f"arc{_name}", f"a{_name}")


def _over_square(grad: Any, leg: Any, self: Any, other: Any) -> Any:
    square = self * self + other * other
    slope = grad * leg / square
    return t.where(square == 0, t.zeros_like(slope), slope)


binary(
    "atan2",
    "The angle of the point (other, self).",
    {
        "self": lambda grad, self, other: _over_square(grad, other, self, other),
        "other": lambda grad, self, other: _over_square(grad, -self, self, other),
    },
    rule=refusing(promoted_to_inexact, "complex"),
)
alias("arctan2", "atan2")


def _to_sinc(grad: Any, self: Any) -> Any:
    angle = self * math.pi
    square = self * angle
    slope = grad * conjugate((angle * angle.cos() - angle.sin()) / square)
    return t.where(square == 0, t.zeros_like(slope), slope)


unary("sinc", "`sin(pi * self) / (pi * self)`, 1 at zero.", _to_sinc)
alias("special_sinc", "sinc", module="special", variants="function out")


def _scaled_angle(name: str, self: Any, factor: float) -> Any:
    if self._spec.dtype.is_complex:
        raise RuntimeError(f"{name}: expected a tensor that is not complex; pass its real part")
    return self * factor


@composite("deg2rad(Tensor self) -> Tensor", variants=EVERY_FORM)
def deg2rad(self: Any) -> Any:
    """Degrees as radians."""
    return _scaled_angle("deg2rad", self, math.pi / 180)


@composite("rad2deg(Tensor self) -> Tensor", variants=EVERY_FORM)
def rad2deg(self: Any) -> Any:
    """Radians as degrees."""
    return _scaled_angle("rad2deg", self, 180 / math.pi)
