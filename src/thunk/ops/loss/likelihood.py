"""The likelihood of classes: negative log likelihood and cross entropy.

Enters: log probabilities or logits of (sample, class, places...), targets of (sample, places...).
Leaves: losses. Invariant: a target of `ignore_index` adds neither loss nor weight.
"""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite, declare
from thunk.ops.loss.reduction import MEAN, NONE, SUM, reduced
from thunk.ops.registry import t
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, plain_spec
from thunk.types.dtype import int64, uint8
from thunk.types.spec import TensorSpec

_FACTS = "Tensor? weight, int reduction, SymInt ignore_index"
_DEFAULTS = "Tensor? weight=None, int reduction=1, SymInt ignore_index=-100"


def _check_classes(self: TensorSpec, target: TensorSpec, weight: TensorSpec | None) -> int:
    """The number of classes, after PyTorch's checks of dtypes and weight."""
    classes = self.shape[0 if self.ndim == 1 else 1]
    if weight is not None and (weight.ndim != 1 or weight.numel != classes):
        raise Mismatch(
            "weight tensor should be defined either for all or no classes: expected "
            f"{classes} weights, got shape {list(weight.shape)}"
        )
    if target.dtype not in (int64, uint8):
        raise expected("target of dtype int64", repr(target.dtype), "use .long()")
    check_dtype(self, FLOATING_ONLY)
    if weight is not None and weight.dtype is not self.dtype:
        raise expected(f"weight of dtype {self.dtype!r}", repr(weight.dtype))
    return classes


def _forward_1d(
    self: TensorSpec, target: TensorSpec, weight: TensorSpec | None, reduction: int,
    ignore_index: int,
) -> tuple[TensorSpec, TensorSpec]:  # fmt: skip
    if self.ndim not in (1, 2):
        raise Mismatch(f"input tensor should be 1D or 2D, got {self.ndim}D")
    if target.ndim > 1:
        raise Mismatch("0D or 1D target tensor expected, multi-target not supported")
    single = self.ndim == 1 and target.ndim == 0
    if not single and self.shape[0] != (target.shape[0] if target.ndim else 0):
        raise Mismatch(f"size mismatch (got input: {self.shape}, target: {target.shape})")
    _check_classes(self, target, weight)
    kept = self.shape[:1] if reduction == NONE and self.ndim == 2 else ()
    return plain_spec(self, kept), plain_spec(self, ())


def _forward_2d(
    self: TensorSpec, target: TensorSpec, weight: TensorSpec | None, reduction: int,
    ignore_index: int,
) -> tuple[TensorSpec, TensorSpec]:  # fmt: skip
    if target.ndim != 3:
        raise Mismatch(
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{target.ndim}"
        )
    if self.ndim != 4:
        raise Mismatch(
            "only batches of spatial inputs supported (4D tensors), but got input of dimension: "
            f"{self.ndim}"
        )
    if (self.shape[0], *self.shape[2:]) != target.shape:
        raise Mismatch(f"size mismatch (got input: {self.shape}, target: {target.shape})")
    _check_classes(self, target, weight)
    kept = target.shape if reduction == NONE else ()
    return plain_spec(self, kept), plain_spec(self, ())


def _backward(
    grad_output: TensorSpec, self: TensorSpec, target: TensorSpec, weight: TensorSpec | None,
    reduction: int, ignore_index: int, total_weight: TensorSpec,
) -> TensorSpec:  # fmt: skip
    _check_classes(self, target, weight)
    return plain_spec(self, self.shape)


def _declare_pair(name: str, forward: Any) -> None:
    """The forward operator `name`_forward and its gradient; both serve `name`."""

    def gradient(
        grad: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int,
        result1: Any,
    ) -> Any:  # fmt: skip
        return getattr(t, f"{name}_backward")(
            grad, self, target, weight, reduction, ignore_index, result1
        )

    def second(grad: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
        # The loss is linear in its input, so the first gradient does not depend on it.
        return getattr(t, name)(grad, target, weight, reduction, ignore_index), None, None

    declare(
        f"{name}_forward(Tensor self, Tensor target, {_FACTS})"
        " -> (Tensor output, Tensor total_weight)",
        doc="The negative log likelihood of classes, and the sum of the weights that counted.",
        spec=forward,
        vjp={"self": gradient},
        variants="",
        raises_on_data="target",
        constants="1",
    )
    declare(
        f"{name}_backward(Tensor grad_output, Tensor self, Tensor target, {_FACTS}, "
        "Tensor total_weight) -> Tensor",
        doc=f"The gradient of `{name}_forward` for its input.",
        spec=_backward,
        vjp={("grad_output", "self", "total_weight"): second},
        variants="",
        raises_on_data="target",
    )


_declare_pair("nll_loss", _forward_1d)
_declare_pair("nll_loss2d", _forward_2d)


@composite(
    f"nll_loss(Tensor self, Tensor target, {_DEFAULTS}) -> Tensor",
    variants="",
    autocast="float32",
)
def nll_loss(
    self: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100
) -> Any:
    """The negative log likelihood of a class a sample."""
    return t.nll_loss_forward(self, target, weight, reduction, ignore_index)[0]


@composite(f"nll_loss2d(Tensor self, Tensor target, {_DEFAULTS}) -> Tensor", variants="")
def nll_loss2d(
    self: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100
) -> Any:
    """The negative log likelihood of a class a place of pictures."""
    return t.nll_loss2d_forward(self, target, weight, reduction, ignore_index)[0]


@composite(f"nll_loss_nd(Tensor self, Tensor target, {_DEFAULTS}) -> Tensor", variants="")
def nll_loss_nd(
    self: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100
) -> Any:
    """The negative log likelihood of classes over any number of places."""
    have, want = self._spec.shape, target._spec.shape
    if not have:
        raise Mismatch("Expected 1 or more dimensions (got 0)", ValueError)
    if len(have) != 1 and (not want or have[0] != want[0]):
        raise Mismatch(
            f"Expected input batch_size ({have[0]}) to match target batch_size "
            f"({want[0] if want else 'none'}).",
            ValueError,
        )
    facts = (weight, reduction, ignore_index)
    if len(have) <= 2:
        return t.nll_loss(self, target, *facts)
    if len(have) == 4:
        return t.nll_loss2d(self, target, *facts)
    if want[1:] != have[2:]:
        raise Mismatch(f"Expected target size {[have[0], *have[2:]]}, got {list(want)}")
    places = math.prod(have[2:])
    loss = t.nll_loss2d(
        self.reshape((have[0], have[1], 1, places)), target.reshape((have[0], 1, places)), *facts
    )
    return loss.reshape(want) if reduction == NONE else loss


@composite(
    f"cross_entropy_loss(Tensor self, Tensor target, {_DEFAULTS}, float label_smoothing=0.0)"
    " -> Tensor",
    variants="",
    autocast="float32",
)
def cross_entropy_loss(
    self: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The cross entropy of logits with class indices or class probabilities."""
    if not 0 <= label_smoothing <= 1:
        raise Mismatch(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    spec = self._spec
    class_dim = 0 if spec.ndim == 1 else 1
    probabilities = spec.shape == target._spec.shape
    if probabilities:
        _check_probabilities(target._spec, ignore_index)
    if weight is not None and spec.ndim and weight._spec.shape != (spec.shape[class_dim],):
        raise Mismatch(
            f"cross_entropy: weight tensor should be defined either for all {spec.shape[class_dim]}"
            f" classes or no classes but got weight tensor of shape: {list(weight._spec.shape)}"
        )
    scores = t.log_softmax(self, class_dim)
    if probabilities:
        return _of_probabilities(scores, target, weight, reduction, label_smoothing, class_dim)
    likelihood = t.nll_loss_nd(scores, target, weight, reduction, ignore_index)
    if label_smoothing == 0:
        return likelihood
    evenly = _of_all_classes(scores, target, weight, reduction, ignore_index, class_dim)
    share = label_smoothing / spec.shape[class_dim]
    return (1 - label_smoothing) * likelihood + evenly * share


def _check_probabilities(target: TensorSpec, ignore_index: int) -> None:
    if not target.dtype.is_floating_point:
        raise Mismatch(
            "Expected floating point type for target with class probabilities, got "
            f"{target.dtype!r}; pass class indices without the class dimension, or .float()"
        )
    if ignore_index >= 0:
        raise Mismatch("ignore_index is not supported for floating point target")


def _per_class(weight: Any, ndim: int, class_dim: int) -> Any:
    """The weights shaped so that they broadcast along the class dimension."""
    shape = [1] * ndim
    shape[class_dim] = weight._spec.numel
    return weight.reshape(shape)


def _of_probabilities(
    scores: Any, target: Any, weight: Any, reduction: int, smoothing: float, class_dim: int
) -> Any:
    classes = scores._spec.shape[class_dim]
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / classes
    parts = scores * target
    if weight is not None:
        parts = parts * _per_class(weight, scores._spec.ndim, class_dim)
    if reduction == NONE:
        return -t.sum(parts, class_dim)
    if reduction == SUM:
        return -t.sum(parts)
    samples = scores._spec.numel // max(classes, 1)
    return -t.sum(parts) / samples if samples else -t.sum(parts) * math.nan


def _of_all_classes(
    scores: Any, target: Any, weight: Any, reduction: int, ignore_index: int, class_dim: int
) -> Any:
    """The loss if every class were as likely as any other."""
    parts = scores
    if weight is not None:
        parts = scores * _per_class(weight, scores._spec.ndim, class_dim)
    loss = -t.sum(parts, class_dim)
    ignored = t.eq(target, ignore_index)
    loss = t.where(ignored, t.zeros_like(loss), loss)
    if reduction != MEAN:
        return reduced(loss, reduction)
    if weight is None:
        return t.sum(loss) / t.sum(t.logical_not(ignored))
    ones = t.ones(scores._spec.shape, dtype=scores._spec.dtype, device=scores._spec.device)
    return -t.sum(loss) / t.nll_loss_nd(ones, target, weight, SUM, ignore_index)
