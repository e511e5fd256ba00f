"""Quotients and remainders, with every way of rounding them."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import alias, declare
from thunk.ops.pointwise.forms import EVERY_FORM, conjugate, mixed
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import pointwise, promoted, promoted_to_inexact, refusing
from thunk.types.spec import TensorSpec

_true_quotient = pointwise(promoted_to_inexact, 2)
_whole = refusing(promoted, "bool complex")


def _by_divisor(grad: Any, other: Any) -> Any:
    return grad / conjugate(other)


def _to_divisor(grad: Any, self: Any, other: Any) -> Any:
    return -grad * conjugate((self / other) / other)


declare(
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    doc="Elementwise true quotient.",
    spec=_true_quotient,
    vjp={"self": _by_divisor, "other": _to_divisor},
    variants=EVERY_FORM,
    numbers="self other",
)


def _rounded_quotient(self: Any, other: Any, rounding_mode: Any) -> TensorSpec:
    if rounding_mode is None:
        return _true_quotient(self, other)
    if rounding_mode not in ("trunc", "floor"):
        raise expected("rounding_mode to be one of None, 'trunc', or 'floor'", repr(rounding_mode))
    return pointwise(_whole, 2)(self, other)


declare(
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    doc="Elementwise quotient, rounded towards zero (`trunc`), down (`floor`) or not at all.",
    spec=_rounded_quotient,
    vjp={
        "self": lambda grad, other, rounding_mode: (
            _by_divisor(grad, other) if rounding_mode is None else t.zeros_like(grad)
        ),
        "other": lambda grad, self, other, rounding_mode: (
            _to_divisor(grad, self, other) if rounding_mode is None else t.zeros_like(grad)
        ),
    },
    variants=EVERY_FORM,
    numbers="self other",
    raises_on_data="other",
)
alias("divide", "div")
alias("true_divide", "div", overload="Tensor")

declare(
    "floor_divide(Tensor self, Tensor other) -> Tensor",
    doc="Elementwise quotient rounded down.",
    spec=pointwise(_whole, 2),
    vjp=MissingGradient("PyTorch defines none; use div(rounding_mode='floor'), whose is zero"),
    variants=EVERY_FORM,
    numbers="self other",
    raises_on_data="other",
)

declare(
    "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    doc="Python's modulus: the remainder with the sign of the divisor.",
    spec=mixed(_whole),
    vjp={
        "self": lambda grad: grad,
        "other": lambda grad, self, other: -grad * t.div(self, other, rounding_mode="floor"),
    },
    variants=EVERY_FORM,
    numbers="self other",
    raises_on_data="other",
)
declare(
    "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
    doc="C's modulus: the remainder with the sign of the dividend.",
    spec=mixed(_whole),
    vjp={
        "self": lambda grad: grad,
        "other": lambda grad, self, other: -grad * t.div(self, other, rounding_mode="trunc"),
    },
    variants=EVERY_FORM,
    numbers="other",
    raises_on_data="other",
)
