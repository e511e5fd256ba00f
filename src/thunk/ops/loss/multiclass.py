"""Margins between the right classes and all others.

Enters: scores of (sample, class) or (class), the right class or classes. Leaves: losses.
Invariant: as in PyTorch, the first gradient has no gradient of its own.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import composite, declare
from thunk.ops.loss.reduction import NONE
from thunk.ops.registry import t
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, plain_spec
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec

_NO_SECOND = MissingGradient("PyTorch defines no second gradient of this loss")


def _check_scores(self: TensorSpec) -> None:
    if self.ndim > 2 or 0 in self.shape[1:] or (self.ndim == 1 and not self.numel):
        raise Mismatch(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(self.shape)}"
        )
    check_dtype(self, FLOATING_ONLY)


def _multi_margin(
    self: TensorSpec, target: TensorSpec, p: Any, margin: Any, weight: TensorSpec | None,
    reduction: int,
) -> TensorSpec:  # fmt: skip
    _check_scores(self)
    if p not in (1, 2):
        raise Mismatch(f"only p == 1 and p == 2 supported, got {p}")
    samples = self.shape[0] if self.ndim == 2 else 1
    if target.ndim > 1 or target.numel != samples:
        raise Mismatch(f"inconsistent target size, got: {list(target.shape)}")
    if target.dtype is not int64:
        raise expected("target of dtype int64", repr(target.dtype), "use .long()")
    classes = self.shape[-1] if self.ndim else 1
    if weight is not None and (weight.ndim > 1 or weight.numel != classes):
        raise Mismatch(f"inconsistent weight size, got: {list(weight.shape)}")
    kept = reduction == NONE and target.ndim > 0
    return plain_spec(self, (samples,) if kept else ())


declare(
    "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, "
    "Tensor? weight=None, int reduction=1) -> Tensor",
    doc="What the right class lacks to score the margin above each other class.",
    spec=_multi_margin,
    vjp={
        "self": lambda grad, self, target, p, margin, weight, reduction: (
            t.multi_margin_loss_backward(grad, self, target, p, margin, weight, reduction)
        )
    },
    variants="function",
    module="nn",
    raises_on_data="target",
    autocast="float32",
)
declare(
    "multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, "
    "Scalar margin, Tensor? weight=None, int reduction=1) -> Tensor",
    doc="The gradient of `multi_margin_loss` for the scores.",
    spec=lambda grad_output, self, *_: plain_spec(self, self.shape),
    vjp=_NO_SECOND,
    variants="",
    raises_on_data="target",
)


def _multilabel_margin(
    self: TensorSpec, target: TensorSpec, reduction: int
) -> tuple[TensorSpec, TensorSpec]:
    _check_scores(self)
    fits = target.shape == self.shape or (self.numel == 1 and target.numel == 1)
    if not fits:
        raise Mismatch(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}"
        )
    if target.dtype is not int64:
        raise expected("target of dtype int64", repr(target.dtype), "use .long()")
    kept = self.shape[:1] if reduction == NONE and self.ndim == 2 else ()
    return plain_spec(self, kept), plain_spec(self, target.shape)


declare(
    "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction)"
    " -> (Tensor output, Tensor is_target)",
    doc="What the right classes lack to score one above each other class; which are right.",
    spec=_multilabel_margin,
    vjp={
        "self": lambda grad, self, target, reduction, result1: (
            t.multilabel_margin_loss_backward(grad, self, target, reduction, result1)
        )
    },
    variants="",
    raises_on_data="target",
    constants="1",
)
declare(
    "multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, "
    "int reduction, Tensor is_target) -> Tensor",
    doc="The gradient of `multilabel_margin_loss_forward` for the scores.",
    spec=lambda grad_output, self, *_: plain_spec(self, self.shape),
    vjp=_NO_SECOND,
    variants="",
    raises_on_data="target",
)


@composite(
    "multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    variants="function",
    module="nn",
    autocast="float32",
)
def multilabel_margin_loss(self: Any, target: Any, reduction: int = 1) -> Any:
    """What the right classes (listed up to the first -1) lack to score one above each other."""
    return t.multilabel_margin_loss_forward(self, target, reduction)[0]
