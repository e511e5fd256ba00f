"""Addition, subtraction, multiplication, division and negation."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import declare
from thunk.ops.rules.pointwise import always_bool, first_dtype, pointwise, promoted_to_inexact
from thunk.types.dtype import bool_
from thunk.types.spec import TensorSpec

_BINARY = "function method inplace out"
_plain = pointwise(operands=2)


def _no_bool_subtraction(self: Any, other: Any, alpha: Any) -> TensorSpec:
    for operand in (self, other):
        if isinstance(operand, TensorSpec) and operand.dtype is bool_:
            raise expected(
                "operands that are not bool", "a bool tensor", "use `^` or `logical_xor()` instead"
            )
    return _with_alpha(self, other, alpha)


def _with_alpha(self: Any, other: Any, alpha: Any) -> TensorSpec:
    found = _plain(self, other)
    if isinstance(alpha, bool) and found.dtype is not bool_:
        raise Mismatch("Boolean alpha only supported for Boolean results")
    if isinstance(alpha, float) and not found.dtype.is_inexact:
        raise Mismatch(
            "For integral input tensors, argument alpha must not be a floating point number"
        )
    if isinstance(alpha, complex) and not found.dtype.is_complex:
        raise Mismatch("For non-complex input tensors, argument alpha must not be a complex number")
    return found


def _conj_scalar(value: Any) -> Any:
    return value.conjugate() if isinstance(value, complex) else value


declare(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    doc="`self + alpha * other`.",
    spec=_with_alpha,
    vjp={
        "self": lambda grad: grad,
        "other": lambda grad, alpha: grad if alpha == 1 else grad * _conj_scalar(alpha),
    },
    variants=_BINARY,
    numbers="self other",
)

declare(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    doc="`self - alpha * other`.",
    spec=_no_bool_subtraction,
    vjp={
        "self": lambda grad: grad,
        "other": lambda grad, alpha: -grad if alpha == 1 else grad * -_conj_scalar(alpha),
    },
    variants=_BINARY,
    numbers="self other",
)

declare(
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    doc="Elementwise product.",
    spec=_plain,
    vjp={
        "self": lambda grad, other: grad * conjugate(other),
        "other": lambda grad, self: grad * conjugate(self),
    },
    variants=_BINARY,
    numbers="self other",
)

declare(
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    doc="Elementwise true quotient.",
    spec=pointwise(promoted_to_inexact, 2),
    vjp={
        "self": lambda grad, other: grad / conjugate(other),
        "other": lambda grad, self, other: -grad * conjugate((self / other) / other),
    },
    variants=_BINARY,
    numbers="self other",
)


def _no_bool(self: TensorSpec) -> TensorSpec:
    if self.dtype is bool_:
        raise expected(
            "an operand that is not bool", "a bool tensor",
            "use the `~` or `logical_not()` operator instead",
        )  # fmt: skip
    return pointwise(first_dtype)(self)


declare(
    "neg(Tensor self) -> Tensor",
    doc="Elementwise negation.",
    spec=_no_bool,
    vjp={"self": lambda grad: -grad},
    variants=_BINARY,
)

declare(
    "isnan(Tensor self) -> Tensor",
    doc="Where elements are not a number.",
    spec=pointwise(always_bool),
    vjp=NoGradient("the result is boolean"),
)


def conjugate(value: Any) -> Any:
    """The complex conjugate of a tensor or number; reals are returned as they are."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, complex):
        return value.conjugate()
    return value.conj() if value._spec.dtype.is_complex else value
