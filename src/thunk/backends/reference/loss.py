"""NumPy rules of losses that are no plain elementwise arithmetic.

Invariant: targets are checked before they index anything.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule

NONE, MEAN, SUM = range(3)


def reduced(loss: Any, reduction: int) -> Any:
    """The losses, their mean (NaN if there are none) or their sum."""
    if reduction == NONE:
        return loss
    total = loss.ravel().sum()
    return numpy.divide(total, loss.dtype.type(loss.size)) if reduction == MEAN else total


# --- probabilities --------------------------------------------------------------------------------


@rule("binary_cross_entropy", half="float32")
def binary_cross_entropy(spec: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    if not ((self >= 0) & (self <= 1)).all():
        raise RuntimeError(
            "binary_cross_entropy: all elements of input should be between 0 and 1; pass "
            "probabilities, or logits to binary_cross_entropy_with_logits"
        )
    lowest = self.dtype.type(-100)
    no = numpy.maximum(numpy.log1p(-self), lowest)
    yes = numpy.maximum(numpy.log(self), lowest)
    loss = (target - 1) * no - target * yes
    return reduced(loss if weight is None else loss * weight, reduction)


# --- classes --------------------------------------------------------------------------------------


def _weights(scores: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any]:
    """The weight of every target (zero if ignored), and the targets with a class in their place."""
    ignored = target == ignore_index
    wrong = ~ignored & ((target < 0) | (target >= scores.shape[1]))
    if wrong.any():
        raise IndexError(
            f"nll_loss: Target {target[wrong][0]} is out of bounds; expected a class from 0 to "
            f"{scores.shape[1] - 1} or ignore_index ({ignore_index})"
        )
    safe = numpy.where(ignored, 0, target).astype(numpy.int64)
    if weight is None:
        counted = numpy.ones(safe.shape, scores.dtype)
    else:
        counted = weight[safe] if weight.size else numpy.zeros(safe.shape, scores.dtype)
    return numpy.where(ignored, scores.dtype.type(0), counted), safe


def _batch(self: Any, target: Any) -> tuple[Any, Any]:
    """Scores of (sample, class, ...) and targets of (sample, ...), whatever came."""
    return (self.reshape(1, -1), target.reshape(1)) if self.ndim == 1 else (self, target)


@rule("nll_loss_forward", "nll_loss2d_forward", half="float32")
def nll_loss(
    spec: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int
) -> Any:
    scores, classes = _batch(self, target)
    counted, safe = _weights(scores, classes, weight, ignore_index)
    if scores.shape[1]:
        picked = numpy.take_along_axis(scores, safe[:, None], 1)[:, 0]
    else:
        picked = numpy.zeros(safe.shape, scores.dtype)
    loss = numpy.where(classes == ignore_index, scores.dtype.type(0), -picked * counted)
    if reduction == NONE:
        return loss.reshape(spec[0].shape), numpy.zeros((), scores.dtype)
    total, weights = loss.ravel().sum(), counted.ravel().sum()
    return (numpy.divide(total, weights) if reduction == MEAN else total), weights


@rule("nll_loss_backward", "nll_loss2d_backward", half="float32")
def nll_loss_backward(
    spec: Any, grad_output: Any, self: Any, target: Any, weight: Any, reduction: int,
    ignore_index: int, total_weight: Any,
) -> Any:  # fmt: skip
    scores, classes = _batch(self, target)
    counted, safe = _weights(scores, classes, weight, ignore_index)
    scale = grad_output.reshape(safe.shape) if grad_output.ndim else grad_output
    if reduction == MEAN:
        scale = numpy.divide(scale, total_weight)
    found = numpy.zeros(scores.shape, scores.dtype)
    values = numpy.where(classes == ignore_index, scores.dtype.type(0), -counted * scale)
    if found.size:
        numpy.put_along_axis(found, safe[:, None], values[:, None], 1)
    return found.reshape(self.shape)


# --- margins --------------------------------------------------------------------------------------


def _lacking(self: Any, target: Any, margin: Any) -> tuple[Any, Any, Any]:
    """What each class takes of the right one's margin, and the right classes."""
    scores = self.reshape(-1, self.shape[-1] if self.ndim else 1)
    right = target.reshape(-1)
    if ((right < 0) | (right >= scores.shape[1])).any():
        raise RuntimeError(
            f"multi_margin_loss: target out of range; expected classes from 0 to "
            f"{scores.shape[1] - 1}"
        )
    rows = numpy.arange(len(right))
    lacking = scores.dtype.type(margin) - scores[rows, right][:, None] + scores
    lacking = numpy.maximum(lacking, 0)
    lacking[rows, right] = 0
    return lacking, rows, right


@rule("multi_margin_loss", half="float32")
def multi_margin_loss(
    spec: Any, self: Any, target: Any, p: Any, margin: Any, weight: Any, reduction: int
) -> Any:
    lacking, _, right = _lacking(self, target, margin)
    loss = (lacking if p == 1 else lacking * lacking).sum(1) / lacking.shape[1]
    loss = loss if weight is None else loss * weight.reshape(-1)[right]
    found = reduced(loss, reduction)
    return found.reshape(spec.shape)


@rule("multi_margin_loss_backward", half="float32")
def multi_margin_loss_backward(
    spec: Any, grad_output: Any, self: Any, target: Any, p: Any, margin: Any, weight: Any,
    reduction: int,
) -> Any:  # fmt: skip
    lacking, rows, right = _lacking(self, target, margin)
    slope = (lacking > 0).astype(lacking.dtype) if p == 1 else 2 * lacking
    slope[rows, right] = -slope.sum(1)
    slope /= lacking.shape[1]
    if weight is not None:
        slope *= weight.reshape(-1)[right][:, None]
    if reduction == MEAN:
        slope /= max(len(rows), 1)
    return (slope * grad_output.reshape(-1, 1)).reshape(self.shape)


def _right_classes(self: Any, target: Any) -> tuple[Any, Any]:
    """Scores as rows, and how often the target lists each class before its first -1."""
    scores = self.reshape(-1, self.shape[-1] if self.ndim else 1)
    listed = target.reshape(scores.shape)
    if ((listed < -1) | (listed >= scores.shape[1])).any():
        raise RuntimeError(
            f"multilabel_margin_loss: target is out of range; expected classes from 0 to "
            f"{scores.shape[1] - 1}, or -1 after the last"
        )
    rows, places = numpy.nonzero(numpy.cumprod(listed >= 0, 1))
    counts = numpy.zeros(scores.shape, scores.dtype)
    numpy.add.at(counts, (rows, listed[rows, places]), 1)
    return scores, counts


def _multilabel_lacking(scores: Any, counts: Any) -> Any:
    """For every (row, right class, other class) what the right one lacks to its margin of one."""
    lacking = numpy.maximum(1 - scores[:, :, None] + scores[:, None, :], 0)
    return numpy.where(counts[:, None, :] == 0, lacking, 0)


@rule("multilabel_margin_loss_forward", half="float32")
def multilabel_margin_loss(spec: Any, self: Any, target: Any, reduction: int) -> Any:
    scores, counts = _right_classes(self, target)
    lacking = _multilabel_lacking(scores, counts) * counts[:, :, None]
    found = reduced(lacking.sum((1, 2)) / scores.dtype.type(scores.shape[1]), reduction)
    return found.reshape(spec[0].shape), (counts > 0).reshape(spec[1].shape)


@rule("multilabel_margin_loss_backward", half="float32")
def multilabel_margin_loss_backward(
    spec: Any, grad_output: Any, self: Any, target: Any, reduction: int, is_target: Any
) -> Any:
    scores, counts = _right_classes(self, target)
    slope = (_multilabel_lacking(scores, counts) > 0) * counts[:, :, None]
    found = (slope.sum(1) - slope.sum(2)) / scores.shape[1]
    if reduction == MEAN:
        found /= max(len(scores), 1)
    return (found * grad_output.reshape(-1, 1)).reshape(self.shape)
