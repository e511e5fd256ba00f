"""Losses of distributions and classes, with the signatures of `torch.nn.functional`."""

from __future__ import annotations

import math
import warnings
from typing import Any

from thunk.nn.functional.reduction import number_of, resolved
from thunk.ops import families
from thunk.ops.registry import t

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "ctc_loss",
    "kl_div", "linear_cross_entropy", "nll_loss", "poisson_nll_loss",
]  # fmt: skip

DECLARED = families.FAMILIES


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """How unlikely label sequences are over all their alignments."""
    return t.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, number_of(reduction),
        zero_infinity,
    )  # fmt: skip


def nll_loss(
    input: Any, target: Any, weight: Any = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """The negative log likelihood of classes."""
    number = number_of(resolved(size_average, reduce, reduction))
    return t.nll_loss_nd(input, target, weight, number, ignore_index)


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False,
    size_average: bool | None = None, eps: float = 1e-8, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """How unlikely counts are under Poisson distributions of the predicted rates."""
    reduction = resolved(size_average, reduce, reduction)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    return t.poisson_nll_loss(input, target, log_input, full, eps, number_of(reduction))


def kl_div(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Any:  # fmt: skip
    """The divergence of distributions from their predicted logarithms."""
    if size_average is not None or reduce is not None:
        number = number_of(resolved(size_average, reduce, reduction))
    else:
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support "
                "size; 'batchmean' divides by the batch size only, as the divergence is defined",
                stacklevel=2,
            )
        number = number_of("sum" if reduction == "batchmean" else reduction)
    found = t.kl_div(input, target, number, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        found = found / input.size()[0]
    return found


def cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The cross entropy of logits with class indices or class probabilities."""
    number = number_of(resolved(size_average, reduce, reduction))
    return t.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """The cross entropy of probabilities of yes and no."""
    number = number_of(resolved(size_average, reduce, reduction))
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = t.broadcast_tensors([weight, target])[0]
    return t.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Any = None,
) -> Any:  # fmt: skip
    """The cross entropy of the sigmoid of logits."""
    number = number_of(resolved(size_average, reduce, reduction))
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    return t.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def linear_cross_entropy(
    input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None,
    reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:  # fmt: skip
    """`cross_entropy` of a linear layer's logits.

    PyTorch's `options` choose how it chunks the batch to save memory, not what it computes; they
    are accepted and have no effect.
    """
    shape = _logits_shape(input, linear_weight, linear_bias)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError(
            "ignore_index cannot be specified when target contains probabilities"
        )
    classes = math.prod(linear_weight.shape[:-1])
    flat_bias = None if linear_bias is None else linear_bias.reshape((classes,))
    logits = t.linear(input, linear_weight.reshape((classes, input.shape[-1])), flat_bias)
    return cross_entropy(
        logits.reshape(shape), target, weight=weight, reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )  # fmt: skip


def _logits_shape(input: Any, weight: Any, bias: Any) -> tuple[int, ...]:
    """The shape of the logits: (samples,) classes, and the weight's dimensions in between."""
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {weight.dim()}"
        )
    features = input.shape[-1]
    if features != weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{features} and {weight.shape[-1]}, respectively"
        )
    rows = tuple(weight.shape[:-1])
    if bias is not None and tuple(bias.shape) != rows:
        raise RuntimeError(f"expected linear_bias shape {rows}, got {tuple(bias.shape)}")
    if len(rows) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires "
            f"batched input, (N, {features}), got unbatched input with shape {tuple(input.shape)}"
        )
    return (*input.shape[:-1], *rows)
