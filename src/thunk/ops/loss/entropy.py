"""Cross entropy of yes-or-no predictions, given as probabilities or as logits.

Enters: predictions, targets, weights. Leaves: losses. Invariant: logits never pass through a
probability, so large ones neither overflow nor cancel.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite, declare
from thunk.ops.loss.reduction import per_element, reduced, reduced_spec
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import pointwise_spec
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, plain_spec
from thunk.types.spec import TensorSpec


def _bce_spec(
    self: TensorSpec, target: TensorSpec, weight: TensorSpec | None, reduction: int
) -> TensorSpec:
    if self.shape != target.shape:
        raise Mismatch(
            f"expected input and target of one shape, got {list(self.shape)} and "
            f"{list(target.shape)}"
        )
    check_dtype(self, FLOATING_ONLY)
    if self.dtype is not target.dtype:
        raise Mismatch(f"Found dtype {target.dtype!r} but expected {self.dtype!r}")
    operands = [each for each in (self, target, weight) if each is not None]
    if pointwise_spec(operands).shape != self.shape:
        raise Mismatch(f"expected a weight that broadcasts to {list(self.shape)}")
    return reduced_spec(plain_spec(self, self.shape), reduction)


def _weighed(value: Any, weight: Any) -> Any:
    return value if weight is None else value * weight


def _bce_vjp(
    grad: Any, self: Any, target: Any, weight: Any, reduction: int, needed: Any
) -> Any:
    scale = _weighed(per_element(grad, reduction, self._spec), weight)
    to_self, to_target = None, None
    if needed[0]:
        to_self = scale * (self - target) / t.clamp_min((1 - self) * self, 1e-12)
    if needed[1]:
        to_target = scale * (t.log1p(-self) - t.log(self))
    return to_self, to_target


declare(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)"
    " -> Tensor",
    doc="The cross entropy of probabilities; logarithms are kept above -100.",
    spec=_bce_spec,
    vjp={("self", "target"): _bce_vjp},
    variants="function",
    module="nn",
    raises_on_data="self",
    autocast="float32",
)


@composite(
    "binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, "
    "Tensor? weight=None, int reduction=1) -> Tensor",
    variants="",
)
def binary_cross_entropy_backward(
    grad_output: Any, self: Any, target: Any, weight: Any = None, reduction: int = 1
) -> Any:
    """The gradient of `binary_cross_entropy` for the probabilities."""
    return _bce_vjp(grad_output, self, target, weight, reduction, (True, False))[0]


def _with_logits(
    self: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 1
) -> Any:
    if not target._spec.dtype.is_floating_point:
        raise expected(
            "target of a floating point dtype", repr(target._spec.dtype), "use .float()"
        )
    slope = t.log_sigmoid(self)
    if pos_weight is not None:
        slope = slope * ((pos_weight - 1) * target + 1)
    return reduced(_weighed((1 - target) * self - slope, weight), reduction)


def _with_logits_spec(
    self: TensorSpec, target: TensorSpec, weight: TensorSpec | None,
    pos_weight: TensorSpec | None, reduction: int,
) -> TensorSpec:  # fmt: skip
    given = [each for each in (self, target, weight, pos_weight) if each is not None]
    return reduced_spec(pointwise_spec(given), reduction)


def _with_logits_vjp(
    grad: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int, needed: Any
) -> Any:
    given = [
        each._spec for each in (self, target, weight, pos_weight) if each is not None
    ]  # fmt: skip
    scale = _weighed(per_element(grad, reduction, pointwise_spec(given)), weight)
    to_self, to_target = None, None
    if needed[0]:
        yes = target if pos_weight is None else target * pos_weight
        share = t.sigmoid(self)
        chance = share if pos_weight is None else (yes + 1 - target) * share
        to_self = scale * (chance - yes)
    if needed[1]:
        if pos_weight is None:
            to_target = -scale * self
        else:
            to_target = scale * (t.log_sigmoid(-self) - pos_weight * t.log_sigmoid(self))
    return to_self, to_target


declare(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
    "Tensor? pos_weight=None, int reduction=1) -> Tensor",
    doc="The cross entropy of the sigmoid of logits.",
    spec=_with_logits_spec,
    decompose=_with_logits,
    vjp={("self", "target"): _with_logits_vjp},
    variants="function",
    autocast="float32",
)


def _soft_margin(self: Any, target: Any, reduction: int = 1) -> Any:
    return reduced(-t.log_sigmoid(self * target), reduction)


def _soft_margin_vjp(grad: Any, self: Any, target: Any, reduction: int) -> Any:
    scale = per_element(grad, reduction, self._spec)
    return -scale * target * t.sigmoid(-self * target)


declare(
    "soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    doc="`log(1 + exp(-target * self))` for targets of 1 and -1.",
    spec=lambda self, target, reduction: reduced_spec(pointwise_spec((self, target)), reduction),
    decompose=_soft_margin,
    vjp={"self": _soft_margin_vjp},
    variants="function",
    module="nn",
    autocast="float32",
)
