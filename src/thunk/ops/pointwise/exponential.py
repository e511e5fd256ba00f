"""Exponentials and logarithms."""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import alias, composite, declare
from thunk.ops.pointwise.forms import EVERY_FORM, binary, conjugate, mixed, unary
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import (
    first_dtype,
    pointwise_spec,
    promoted,
    promoted_to_inexact,
    refusing,
)
from thunk.types.dtype import int32
from thunk.types.spec import TensorSpec

_LN2, _LN10 = math.log(2), math.log(10)

unary("exp", "e to the power of each element.", lambda grad, result: grad * conjugate(result))
unary(
    "exp2",
    "2 to the power of each element.",
    lambda grad, result: grad * conjugate(result) * _LN2,
)
unary(
    "expm1",
    "`exp(self) - 1`, precise near zero.",
    lambda grad, result: grad * (conjugate(result) + 1),
)
unary("log", "Natural logarithm.", lambda grad, self: grad / conjugate(self))
unary("log2", "Logarithm to base 2.", lambda grad, self: grad / (conjugate(self) * _LN2))
unary("log10", "Logarithm to base 10.", lambda grad, self: grad / (conjugate(self) * _LN10))
unary(
    "log1p",
    "`log(1 + self)`, precise near zero.",
    lambda grad, self: grad / (conjugate(self) + 1),
)
for _name in ("exp2", "expm1", "log1p"):
    alias(f"special_{_name}", _name, module="special", variants="function out")

_no_integers = refusing(promoted, "bool integral")


def _share(grad: Any, self: Any, other: Any) -> Any:
    """The part of logaddexp's gradient that goes to `self`; equal infinities share it."""
    return grad / conjugate(1 + t.exp(_difference(other, self)))


def _difference(first: Any, second: Any) -> Any:
    difference = first - second
    if difference._spec.dtype.is_complex:
        return difference
    return t.where(first == second, t.zeros_like(difference), difference)


binary(
    "logaddexp",
    "`log(exp(self) + exp(other))` without overflow.",
    {
        "self": _share,
        "other": lambda grad, self, other: _share(grad, other, self),
    },
    rule=_no_integers,
    variants="function method out",
)
binary(
    "logaddexp2",
    "`log2(2 ** self + 2 ** other)` without overflow.",
    {
        "self": lambda grad, self, other: grad / (1 + t.exp2(_difference(other, self))),
        "other": lambda grad, self, other: grad / (1 + t.exp2(_difference(self, other))),
    },
    rule=refusing(promoted, "bool integral complex"),
    variants="function method out",
)

_REAL = refusing(promoted_to_inexact, "complex")


def _factor_slope(grad: Any, logarithm: Any, self: Any, forbidden: Any) -> Any:
    """The gradient of `self * log(..)` in `self`: zero where a zero hides an undefined log."""
    slope = grad * logarithm
    if forbidden is False:
        return slope
    hidden = self == 0
    if forbidden is not True:
        hidden = hidden.logical_and(forbidden)
    return t.where(hidden, t.zeros_like(slope), slope)


def _log_of(value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        return math.log(value) if value > 0 else (-math.inf if value == 0 else math.nan)
    return value.log()


def _log1p_of(value: Any) -> Any:
    return _log_of(value + 1) if isinstance(value, (bool, int, float)) else value.log1p()


def _xlogy_self(grad: Any, self: Any, other: Any) -> Any:
    return _factor_slope(grad, _log_of(other), self, other <= 0)


def _xlog1py_self(grad: Any, self: Any, other: Any) -> Any:
    return _factor_slope(grad, _log1p_of(other), self, other <= -1)


declare(
    "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
    doc="`self * log(other)`, zero where `self` is.",
    spec=mixed(_REAL),
    vjp={"self": _xlogy_self, "other": lambda grad, self, other: grad * self / other},
    variants=EVERY_FORM,
    numbers="self other",
)
alias("special_xlogy", "xlogy", module="special", variants="function out")

declare(
    "special_xlog1py(Tensor self, Tensor other) -> Tensor",
    doc="`self * log1p(other)`, zero where `self` is.",
    spec=mixed(_REAL),
    vjp={"self": _xlog1py_self, "other": lambda grad, self, other: grad * self / (other + 1)},
    variants="function out",
    numbers="self other",
    module="special",
)

unary(
    "special_entr",
    "`-self * log(self)`: 0 at zero, minus infinity below.",
    lambda grad, self: grad * (-(1 + self.log())),
    rule=_REAL,
    variants="function out",
    module="special",
)


@composite("ldexp.Tensor(Tensor self, Tensor other) -> Tensor", variants=EVERY_FORM)
def ldexp(self: Any, other: Any) -> Any:
    """`self * 2 ** other`."""
    return self * t.pow(2.0, other)


def _frexp(self: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    if not self.dtype.is_floating_point:
        raise Mismatch(f"expected a floating point dtype, got {self.dtype}; convert it first")
    mantissa = pointwise_spec((self,), first_dtype)
    return mantissa, mantissa.with_dtype(int32)


declare(
    "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    doc="`mantissa * 2 ** exponent == self`, with a mantissa between 0.5 and 1.",
    spec=_frexp,
    vjp={"self": lambda grad, result1: grad / result1.exp2()},
    variants="function method out",
)

