"""Enters: a name and facts. Leaves: the declaration of an operator of one or two tensors.

Invariant: nothing but the schema's shape is assumed here; every fact is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import (
    DtypeRule,
    broadcast_operands,
    pointwise,
    pointwise_spec,
    promoted,
    promoted_to_inexact,
)
from thunk.types.spec import TensorSpec

EVERY_FORM = "function method inplace out"


def unary(
    name: str, doc: str, vjp: Any, *, rule: DtypeRule = promoted_to_inexact,
    variants: str = EVERY_FORM, **facts: Any,
) -> None:  # fmt: skip
    """Declare `name(Tensor self) -> Tensor`; `vjp` is the formula for `self`, or a reason."""
    declare(
        f"{name}(Tensor self) -> Tensor",
        doc=doc,
        spec=pointwise(rule),
        vjp={"self": vjp} if callable(vjp) else vjp,
        variants=variants,
        **facts,
    )


def binary(
    name: str, doc: str, vjp: Any, *, rule: DtypeRule = promoted, second: str = "other",
    variants: str = EVERY_FORM, **facts: Any,
) -> None:  # fmt: skip
    """Declare `name(Tensor self, Tensor other) -> Tensor`."""
    declare(
        f"{name}(Tensor self, Tensor {second}) -> Tensor",
        doc=doc,
        spec=pointwise(rule, 2),
        vjp=vjp,
        variants=variants,
        **facts,
    )


def mixed(rule: DtypeRule) -> Callable[..., TensorSpec]:
    """The shape rule of two operands of which one may be a number, not both."""

    def spec(*args: Any) -> TensorSpec:
        broadcast_operands(args[:2])
        return pointwise_spec(args[:2], rule)

    return spec


def no_slope(grad: Any) -> Any:
    """The gradient of a function that is constant piece by piece."""
    return t.zeros_like(grad)


def conjugate(value: Any) -> Any:
    """The complex conjugate of a tensor or number; reals are returned as they are."""
    if isinstance(value, complex):
        return value.conjugate()
    if isinstance(value, (bool, int, float)):
        return value
    return value.conj() if value._spec.dtype.is_complex else value


def is_complex(value: Any) -> bool:
    """Whether a tensor or number is complex."""
    if isinstance(value, (bool, int, float, complex)):
        return isinstance(value, complex)
    return bool(value._spec.dtype.is_complex)
