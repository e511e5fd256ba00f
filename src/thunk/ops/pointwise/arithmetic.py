"""Addition, subtraction, multiplication and negation."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import alias, composite, declare
from thunk.ops.pointwise.forms import EVERY_FORM, conjugate, unary
from thunk.ops.registry import t
from thunk.ops.rules.numbers import check_fits
from thunk.ops.rules.pointwise import first_dtype, pointwise, refusing
from thunk.types.dtype import bool_
from thunk.types.spec import TensorSpec

__all__ = ["conjugate"]

_plain = pointwise(operands=2)


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
    check_fits(alpha, found.dtype)
    return found


def _no_bool_subtraction(self: Any, other: Any, alpha: Any) -> TensorSpec:
    for operand in (self, other):
        if isinstance(operand, TensorSpec) and operand.dtype is bool_:
            raise expected(
                "operands that are not bool", "a bool tensor", "use `^` or `logical_xor()` instead"
            )
    return _with_alpha(self, other, alpha)


def _scaled(grad: Any, alpha: Any) -> Any:
    return grad if alpha == 1 else grad * conjugate(alpha)


declare(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    doc="`self + alpha * other`.",
    spec=_with_alpha,
    vjp={"self": lambda grad: grad, "other": _scaled},
    variants=EVERY_FORM,
    numbers="self other",
)

declare(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    doc="`self - alpha * other`.",
    spec=_no_bool_subtraction,
    vjp={"self": lambda grad: grad, "other": lambda grad, alpha: -_scaled(grad, alpha)},
    variants=EVERY_FORM,
    numbers="self other",
)
alias("subtract", "sub")


@composite(
    "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    variants="function method",
    numbers="other",
)
def rsub(self: Any, other: Any, alpha: Any = 1) -> Any:
    """`other - alpha * self`."""
    return t.sub(other, self, alpha=alpha)


declare(
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    doc="Elementwise product.",
    spec=_plain,
    vjp={
        "self": lambda grad, other: grad * conjugate(other),
        "other": lambda grad, self: grad * conjugate(self),
    },
    variants=EVERY_FORM,
    numbers="self other",
)
alias("multiply", "mul")

unary(
    "neg",
    "Elementwise negation.",
    lambda grad: -grad,
    rule=refusing(first_dtype, "bool", RuntimeError, "use `~` or `logical_not()` instead"),
)
alias("negative", "neg")


@composite("positive(Tensor(a) self) -> Tensor(a)", variants="function method")
def positive(self: Any) -> Any:
    """`self`, which must not be bool."""
    if self._spec.dtype is bool_:
        raise RuntimeError(
            "positive: expected a tensor that is not bool, got bool; convert it to a number first"
        )
    return self
