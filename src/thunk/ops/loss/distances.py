"""Losses that measure how far predictions lie from real targets."""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite, declare
from thunk.ops.loss.reduction import per_element, reduced, reduced_spec
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import pointwise_spec
from thunk.types.promotion import result_type
from thunk.types.spec import TensorSpec


def _check_floating(self: Any, target: Any) -> None:
    found = result_type([self._spec, target._spec])
    if not found.is_floating_point:
        raise expected(
            "input and target of floating point dtypes", repr(found), "convert them first",
            NotImplementedError,
        )  # fmt: skip


@composite(
    "l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    variants="function",
    module="nn",
    autocast="float32",
)
def l1_loss(self: Any, target: Any, reduction: int = 1) -> Any:
    """The absolute difference."""
    return reduced(t.abs(self - target), reduction)


@composite(
    "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    variants="function",
    module="nn",
    autocast="float32",
)
def mse_loss(self: Any, target: Any, reduction: int = 1) -> Any:
    """The squared difference."""
    _check_floating(self, target)
    return reduced(t.pow(self - target, 2), reduction)


def _smooth_l1(self: Any, target: Any, reduction: int = 1, beta: float = 1.0) -> Any:
    if beta < 0:
        raise Mismatch(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    _check_floating(self, target)
    if beta == 0:
        return reduced(t.abs(self - target), reduction)
    size = t.abs(self - target)
    inner = t.clamp_max(size, beta)
    return reduced(inner * (2 * size - inner) / (2 * beta), reduction)


def _smooth_l1_vjp(grad: Any, self: Any, target: Any, reduction: int, beta: float) -> Any:
    difference = self - target
    slope = t.sign(difference) if beta == 0 else t.clamp(difference, -beta, beta) / beta
    found = slope * per_element(grad, reduction, difference._spec)
    return found, -found


def _elementwise(self: TensorSpec, target: TensorSpec, reduction: int, *_: Any) -> TensorSpec:
    return reduced_spec(pointwise_spec((self, target)), reduction)


declare(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0) -> Tensor",
    doc="Half the squared difference over beta where it is below beta, else linear.",
    spec=_elementwise,
    decompose=_smooth_l1,
    vjp={("self", "target"): _smooth_l1_vjp},
    variants="function",
    module="nn",
    autocast="float32",
)


def _huber_spec(
    self: TensorSpec, target: TensorSpec, reduction: int = 1, delta: float = 1.0
) -> TensorSpec:
    if delta <= 0:
        raise Mismatch(f"huber_loss does not support non-positive values for delta, got {delta}")
    return _elementwise(self, target, reduction)


def _huber(self: Any, target: Any, reduction: int = 1, delta: float = 1.0) -> Any:
    _check_floating(self, target)
    size = t.abs(self - target)
    inner = t.clamp_max(size, delta)
    return reduced(inner * (size - 0.5 * inner), reduction)


def _huber_vjp(grad: Any, self: Any, target: Any, reduction: int, delta: float) -> Any:
    difference = self - target
    slope = t.clamp(difference, -delta, delta)
    found = slope * per_element(grad, reduction, difference._spec)
    return found, -found


declare(
    "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor",
    doc="Half the squared difference where it is below delta, else linear.",
    spec=_huber_spec,
    static="delta",
    decompose=_huber,
    vjp={("self", "target"): _huber_vjp},
    variants="function",
    module="nn",
    autocast="float32",
)


@composite(
    "kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
    variants="function",
    autocast="float32",
)
def kl_div(self: Any, target: Any, reduction: int = 1, log_target: bool = False) -> Any:
    """The divergence of distributions from their predicted logarithms."""
    for value in (self, target):
        if value._spec.dtype.is_complex:
            raise Mismatch(
                f"expected input and target that are not complex, got {value._spec.dtype!r}; "
                "take real(...) or abs(...)"
            )
    if log_target:
        return reduced(t.exp(target) * (target - self), reduction)
    return reduced(t.xlogy(target, target) - target * self, reduction)


@composite(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, "
    "int reduction) -> Tensor",
    variants="function",
    autocast="float32",
)
def poisson_nll_loss(
    input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int
) -> Any:
    """How unlikely counts are under Poisson distributions of the predicted rates."""
    if log_input:
        loss = t.exp(input) - target * input
    else:
        loss = input - target * t.log(input + eps)
    if full:
        stirling = target * t.log(target) - target + 0.5 * t.log(2 * math.pi * target)
        loss = loss + t.where(t.le(target, 1), t.zeros_like(stirling), stirling)
    return reduced(loss, reduction)
