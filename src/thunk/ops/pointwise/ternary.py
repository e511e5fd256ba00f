"""Operators of three tensors: fused products and interpolation."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ops.declare import declare
from thunk.ops.pointwise.forms import EVERY_FORM, conjugate
from thunk.ops.rules.numbers import check_fits
from thunk.ops.rules.pointwise import pointwise_spec, promoted, refusing
from thunk.types.spec import TensorSpec


def _addcmul(self: Any, tensor1: Any, tensor2: Any, value: Any) -> TensorSpec:
    found = pointwise_spec((self, tensor1, tensor2), refusing(promoted, "bool"))
    check_fits(value, found.dtype)
    return found


def _addcdiv(self: Any, tensor1: Any, tensor2: Any, value: Any) -> TensorSpec:
    if not any(each.dtype.is_inexact for each in (tensor1, tensor2)):
        raise expected(
            "floating point operands (integer division with addcdiv is not supported)",
            f"{tensor1.dtype} and {tensor2.dtype}",
            "divide with div(rounding_mode=...), or convert them",
        )
    return _addcmul(self, tensor1, tensor2, value)


declare(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    doc="`self + value * tensor1 * tensor2`.",
    spec=_addcmul,
    vjp={
        "self": lambda grad: grad,
        "tensor1": lambda grad, tensor2, value: grad * conjugate(tensor2 * value),
        "tensor2": lambda grad, tensor1, value: grad * conjugate(tensor1 * value),
    },
    variants=EVERY_FORM,
)
declare(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    doc="`self + value * tensor1 / tensor2`.",
    spec=_addcdiv,
    vjp={
        "self": lambda grad: grad,
        "tensor1": lambda grad, tensor2, value: grad * conjugate(value / tensor2),
        "tensor2": lambda grad, tensor1, tensor2, value: (
            -grad * conjugate(value * tensor1 / (tensor2 * tensor2))
        ),
    },
    variants=EVERY_FORM,
)


def _lerp(self: Any, end: Any, weight: Any) -> TensorSpec:
    tensors = [each for each in (self, end, weight) if isinstance(each, TensorSpec)]
    for name, each in zip(("self", "end", "weight"), tensors):
        if each.dtype is not self.dtype:
            raise expected(f"dtype {self.dtype} for `{name}`", repr(each.dtype), "cast it")
    return pointwise_spec(tensors, refusing(promoted, "bool integral"))


declare(
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    doc="`self + weight * (end - self)`.",
    spec=_lerp,
    vjp={
        "self": lambda grad, weight: grad * (1 - conjugate(weight)),
        "end": lambda grad, weight: grad * conjugate(weight),
    },
    variants=EVERY_FORM,
)
declare(
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    doc="`self + weight * (end - self)`, with a weight for each element.",
    spec=_lerp,
    vjp={
        "self": lambda grad, weight: grad * conjugate(1 - weight),
        "end": lambda grad, weight: grad * conjugate(weight),
        "weight": lambda grad, self, end: grad * conjugate(end - self),
    },
    variants=EVERY_FORM,
)
