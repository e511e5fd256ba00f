"""Comparisons of two tensors, element by element and as a whole."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import alias, composite, declare
from thunk.ops.pointwise.forms import EVERY_FORM
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import always_bool, pointwise, pointwise_spec, refusing
from thunk.types.spec import TensorSpec

_BOOLEAN = NoGradient("the result is boolean")


def _comparison(name: str, other_name: str, doc: str, refused: str = "complex") -> None:
    declare(
        f"{name}.Tensor(Tensor self, Tensor other) -> Tensor",
        doc=doc,
        spec=pointwise(refusing(always_bool, refused) if refused else always_bool, 2),
        vjp=_BOOLEAN,
        variants=EVERY_FORM,
        numbers="other",
    )
    if other_name:
        alias(other_name, name)


_comparison("eq", "", "Where elements are equal.", refused="")
_comparison("ne", "not_equal", "Where elements differ.", refused="")
_comparison("lt", "less", "Where `self` is less.")
_comparison("le", "less_equal", "Where `self` is less or equal.")
_comparison("gt", "greater", "Where `self` is greater.")
_comparison("ge", "greater_equal", "Where `self` is greater or equal.")


def _isclose(
    self: TensorSpec, other: TensorSpec, rtol: float, atol: float, equal_nan: bool
) -> TensorSpec:
    if self.dtype is not other.dtype:
        raise expected(f"tensors of one dtype, {self.dtype}", repr(other.dtype), "cast one of them")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise expected(f"{name} to be greater than or equal to zero", value)
    return pointwise_spec((self, other), always_bool)


declare(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, "
    "bool equal_nan=False) -> Tensor",
    doc="Where `|self - other| <= atol + rtol * |other|`.",
    spec=_isclose,
    vjp=_BOOLEAN,
)


@composite(
    "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, "
    "bool equal_nan=False) -> bool"
)
def allclose(
    self: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close."""
    return bool(t.all(t.isclose(self, other, rtol, atol, equal_nan)).item())


@composite("equal(Tensor self, Tensor other) -> bool")
def equal(self: Any, other: Any) -> bool:
    """Whether shapes and all elements are the same."""
    if self._spec.device != other._spec.device:
        raise expected(f"tensors on one device, {self._spec.device}", str(other._spec.device))
    if self._spec.shape != other._spec.shape:
        return False
    return bool(t.all(t.eq(self, other)).item())
