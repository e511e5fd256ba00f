"""Losses of real predictions and of margins, with the signatures of `torch.nn.functional`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.nn.functional.reduction import number_of, resolved
from thunk.ops import families
from thunk.ops.registry import t

__all__ = [
    "cosine_embedding_loss", "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "l1_loss",
    "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip

DECLARED = families.FAMILIES


def _alike(input: Any, target: Any) -> Any:
    """Both broadcast, with PyTorch's warning where that was needed."""
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )
    return t.broadcast_tensors([input, target])


def _averaged(loss: Any, reduction: str) -> Any:
    if reduction == "mean":
        return t.mean(loss)
    return t.sum(loss) if reduction == "sum" else loss


def _weighed(loss: Any, weight: Any, reduction: str) -> Any:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(
            f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'."
        )
    if reduction == "mean":
        return t.sum(loss * weight) / t.sum(weight)
    return _averaged(loss * weight, reduction)


def _check_weight(weight: Any, input: Any) -> None:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")


def smooth_l1_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Any:  # fmt: skip
    """Half the squared difference over beta where it is below beta, else linear."""
    left, right = _alike(input, target)
    reduction = resolved(size_average, reduce, reduction)
    return t.smooth_l1_loss(left, right, number_of(reduction), beta)


def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Any:
    """Half the squared difference where it is below delta, else linear."""
    left, right = _alike(input, target)
    if weight is None:
        return t.huber_loss(left, right, number_of(reduction), delta)
    _check_weight(weight, input)
    loss = t.huber_loss(left, right, 0, delta) * weight
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(
            f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'."
        )
    return _averaged(loss, reduction)


def l1_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Any = None,
) -> Any:  # fmt: skip
    """The absolute difference."""
    left, right = _alike(input, target)
    reduction = resolved(size_average, reduce, reduction)
    if weight is None:
        return t.l1_loss(left, right, number_of(reduction))
    _check_weight(weight, input)
    return _weighed(t.abs(left - right), weight, reduction)


def mse_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Any = None,
) -> Any:  # fmt: skip
    """The squared difference."""
    left, right = _alike(input, target)
    reduction = resolved(size_average, reduce, reduction)
    if weight is None:
        return t.mse_loss(left, right, number_of(reduction))
    _check_weight(weight, input)
    return _weighed(t.pow(left - right, 2), weight, reduction)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """How unlikely targets are under normal distributions of the predicted means and variances."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * t.ones_like(input)
    elif bool(t.any(var < 0)):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = t.unsqueeze(var, -1)
        elif not _differs_by_one(input, var):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with no_grad_recording():
        var.clamp_(min=eps)
    loss = 0.5 * (t.log(var) + t.pow(input - target, 2) / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _averaged(loss, reduction)


def _differs_by_one(input: Any, var: Any) -> bool:
    """Whether the sizes differ in one dimension only, where the variance has one element."""
    if input.ndim != var.ndim:
        return False
    pairs = zip(input.size(), var.size(), strict=True)
    return [own for size, own in pairs if size != own] == [1]


def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """What the first input lacks to lie the margin above (target 1) or below (-1) the second."""
    number = number_of(resolved(size_average, reduce, reduction))
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss: All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()}"
        )
    return t.margin_ranking_loss(input1, input2, target, margin, number)


def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Distances where the target is 1; where it is -1, what they lack to the margin."""
    number = number_of(resolved(size_average, reduce, reduction))
    return t.hinge_embedding_loss(input, target, margin, number)


def multilabel_margin_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """What the right classes (listed up to the first -1) lack to score one above each other."""
    number = number_of(resolved(size_average, reduce, reduction))
    return t.multilabel_margin_loss(input, target, number)


def soft_margin_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """`log(1 + exp(-target * input))` for targets of 1 and -1."""
    number = number_of(resolved(size_average, reduce, reduction))
    return t.soft_margin_loss(input, target, number)


def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """The mean over classes of the cross entropy of independent yes-or-no logits."""
    reduction = resolved(size_average, reduce, reduction)
    loss = -(target * t.log_sigmoid(input) + (1 - target) * t.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    last = input.dim() - 1
    loss = t.sum(loss, last) / input.size(last)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    return _averaged(loss, reduction)


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """One minus the cosine of pairs of target 1; of -1, what the cosine exceeds the margin by."""
    number = number_of(resolved(size_average, reduce, reduction))
    return t.cosine_embedding_loss(input1, input2, target, margin, number)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """What the right class lacks to score the margin above each other class."""
    number = number_of(resolved(size_average, reduce, reduction))
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return t.multi_margin_loss(input, target, p, margin, weight, number)


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2,
    eps: float = 1e-6, swap: bool = False, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """What the negative lacks to lie the margin farther from the anchor than the positive."""
    number = number_of(resolved(size_average, reduce, reduction))
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return t.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *,
    distance_function: Callable[[Any, Any], Any] | None = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """The triplet margin loss under any distance."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    counts = (anchor.ndim, positive.ndim, negative.ndim)
    if len(set(counts)) != 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {counts[0]}D, positive {counts[1]}D, and negative "
            f"{counts[2]}D inputs"
        )
    distance = t.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = t.minimum(far, distance(positive, negative))
    return _averaged(t.clamp_min(margin + near - far, 0), reduction)
