"""Powers and roots."""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite, declare
from thunk.ops.pointwise.forms import EVERY_FORM, conjugate, is_complex, unary
from thunk.ops.registry import t
from thunk.ops.rules.numbers import check_fits
from thunk.ops.rules.pointwise import (
    broadcast_operands,
    pointwise_spec,
    promoted,
    promoted_to_inexact,
    refusing,
)
from thunk.types.dtype import BOOL, INTEGRAL, complex128, dtype, float64
from thunk.types.spec import TensorSpec

_NUMBERS = (bool, int, float, complex)


def _power_dtype(operands: Any) -> dtype:
    found = promoted(operands)
    if found.category == BOOL:
        raise expected("operands that are not bool", "bool", kind=NotImplementedError)
    return found


def _power(self: Any, exponent: Any) -> TensorSpec:
    broadcast_operands((self, exponent))
    if not isinstance(exponent, _NUMBERS):
        return pointwise_spec((self, exponent), _power_dtype)
    found = pointwise_spec((self,)).with_dtype(promoted((self, exponent)))
    if found.dtype.category <= INTEGRAL and isinstance(exponent, int) and exponent < 0:
        raise Mismatch("Integers to negative integer powers are not allowed.")
    check_fits(exponent, found.dtype)
    return found


def _to_base(grad: Any, self: Any, exponent: Any) -> Any:
    if isinstance(exponent, _NUMBERS):
        if exponent == 0:
            return t.zeros_like(grad)
        return grad * conjugate(exponent * self.pow(exponent - 1))
    slope = grad * conjugate(exponent * self.pow(exponent - 1))
    return t.where(exponent == 0, t.zeros_like(slope), slope)


def _to_exponent(grad: Any, self: Any, exponent: Any, result: Any) -> Any:
    harmless = _is_not_negative(exponent)
    if isinstance(self, _NUMBERS):
        slope = grad * conjugate(result * _log(self, is_complex(exponent)))
        return t.where(harmless, t.zeros_like(slope), slope) if self == 0 else slope
    slope = grad * conjugate(result * self.log())
    return t.where((self == 0).logical_and(harmless), t.zeros_like(slope), slope)


def _is_not_negative(exponent: Any) -> Any:
    """Where 0 ** exponent has no slope in the exponent."""
    if is_complex(exponent):
        return (t.imag(exponent) == 0).logical_and(t.real(exponent) >= 0)
    return exponent >= 0


def _log(base: Any, as_complex: bool) -> Any:
    """The logarithm of a number, NaN or infinite where a tensor's would be."""
    if isinstance(base, complex) or as_complex:
        value = complex(base)
        size = math.log(abs(value)) if value else -math.inf
        return complex(size, math.atan2(value.imag, value.real))
    if base == 0:
        return -math.inf
    return math.log(base) if base > 0 else math.nan


declare(
    "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    doc="`self ** exponent`; either may be a number.",
    spec=_power,
    vjp={"self": _to_base, "exponent": _to_exponent},
    variants=EVERY_FORM,
    numbers="self exponent",
)

_FLOAT_POWER = "Tensor self, Tensor exponent"


def _as_double(value: Any, element: dtype) -> Any:
    return value if isinstance(value, _NUMBERS) else value.to(element)


def _double_of(*values: Any) -> dtype:
    return complex128 if any(is_complex(each) for each in values) else float64


@composite(
    f"float_power.Tensor_Tensor({_FLOAT_POWER}) -> Tensor",
    variants="function method out",
    numbers="self exponent",
)
def float_power(self: Any, exponent: Any) -> Any:
    """`self ** exponent`, computed in double precision."""
    element = _double_of(self, exponent)
    if isinstance(self, _NUMBERS):
        number: Any = self
        number = complex(number) if element is complex128 else float(number)
        return t.pow(number, _as_double(exponent, element))
    return t.pow(_as_double(self, element), _as_double(exponent, element))


@composite(
    "float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
    variants="method",
    numbers="exponent",
)
def float_power_in_place(self: Any, exponent: Any) -> Any:
    """In-place form of `float_power`; the tensor must be of double precision already."""
    element = _double_of(self, exponent)
    if self._spec.dtype is not element:
        raise RuntimeError(
            f"float_power_: the base given to float_power_ has dtype {self._spec.dtype} but the "
            f"operation's result requires dtype {element}; convert it first"
        )
    return self.pow_(_as_double(exponent, element))


@composite("square(Tensor self) -> Tensor", variants=EVERY_FORM)
def square(self: Any) -> Any:
    """`self ** 2`."""
    return t.pow(self, 2)


unary(
    "sqrt",
    "Square root.",
    lambda grad, result: grad / (2 * conjugate(result)),
)
unary(
    "rsqrt",
    "One over the square root.",
    lambda grad, result: -0.5 * grad * conjugate(result.pow(3)),
)
unary(
    "reciprocal",
    "One over each element.",
    lambda grad, result: -grad * conjugate(result * result),
)

declare(
    "hypot(Tensor self, Tensor other) -> Tensor",
    doc="The length of the hypotenuse, without overflow on the way.",
    spec=lambda self, other: pointwise_spec(
        (self, other), refusing(promoted_to_inexact, "bool integral complex")
    ),
    vjp={
        "self": lambda grad, self, result: grad * (self / result),
        "other": lambda grad, other, result: grad * (other / result),
    },
    variants="function method inplace out",
)
