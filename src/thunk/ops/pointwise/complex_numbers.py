"""Complex numbers made of, and taken apart into, real ones."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ops.declare import composite, declare
from thunk.ops.pointwise.forms import EVERY_FORM, conjugate, unary
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import first_dtype, pointwise_spec, promoted_to_inexact
from thunk.types.dtype import dtype
from thunk.types.spec import TensorSpec

unary(
    "_conj_physical",
    "The complex conjugate in new memory.",
    lambda grad: conjugate(grad),
    rule=first_dtype,
    variants="",
)


@composite("conj_physical(Tensor self) -> Tensor", variants=EVERY_FORM)
def conj_physical(self: Any) -> Any:
    """The complex conjugate in new memory; a real tensor is returned as it is."""
    return t._conj_physical(self) if self._spec.dtype.is_complex else self


@composite("conj(Tensor(a) self) -> Tensor(a)")
def conj(self: Any) -> Any:
    """The complex conjugate; a real tensor is returned as it is."""
    return t.conj_physical(self) if self._spec.dtype.is_complex else self


def _angle_dtype(operands: Any) -> dtype:
    return promoted_to_inexact(operands).to_real()


def _to_angle(grad: Any, self: Any) -> Any:
    if not self._spec.dtype.is_complex:
        return t.zeros_like(grad)
    size = self.abs()
    slope = grad * t.complex(-t.imag(self), t.real(self)) / (size * size)
    return t.where(self == 0, t.zeros_like(slope), slope)


unary(
    "angle",
    "The angle of complex numbers; 0 or pi of real ones.",
    _to_angle,
    rule=_angle_dtype,
    variants="function method out",
)


def _complex_spec(first: TensorSpec, second: TensorSpec) -> TensorSpec:
    if first.dtype is not second.dtype:
        raise expected(f"two tensors of one dtype, {first.dtype}", repr(second.dtype))
    if not first.dtype.is_floating_point or first.dtype.name == "bfloat16":
        raise expected("both inputs to be Half, Float or Double tensors", repr(first.dtype))
    return pointwise_spec((first, second), lambda operands: first.dtype.to_complex())


declare(
    "complex(Tensor real, Tensor imag) -> Tensor",
    doc="The complex numbers with these parts.",
    spec=_complex_spec,
    vjp={"real": lambda grad: t.real(grad), "imag": lambda grad: t.imag(grad)},
    variants="function out exact",
)
declare(
    "polar(Tensor abs, Tensor angle) -> Tensor",
    doc="The complex numbers of this size and angle.",
    spec=_complex_spec,
    vjp={
        "abs": lambda grad, result: t.real(conjugate(grad) * t.sgn(result)),
        "angle": lambda grad, result: t.real(conjugate(grad) * (result * 1j)),
    },
    variants="function out",
)
