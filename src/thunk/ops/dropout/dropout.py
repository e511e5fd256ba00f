"""Elements and channels set to zero at random, the rest scaled to keep the mean.

Enters: a tensor, a probability, whether this is training. Leaves: the tensor with gaps.
Invariant: on the reference backend the mask is PyTorch's for the same seed.
"""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.spatial import INEXACT, check_dtype
from thunk.types.dtype import bool_
from thunk.types.spec import TensorSpec

_FORMS = "function inplace"
# The negative limit of SELU, lambda * alpha: what dropped elements are set to.
_SELU_LIMIT = 1.7580993408473766


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise Mismatch(f"dropout probability has to be between 0 and 1, but got {p}")


def _spec(input: TensorSpec, p: float, train: bool | None) -> tuple[TensorSpec, TensorSpec]:
    _check_probability(p)
    check_dtype(input, INEXACT)
    found = input.fresh()
    return found, found.with_dtype(bool_)


def _gradient(grad: Any, p: float, train: bool | None, result1: Any) -> Any:
    return t.native_dropout_backward(grad, result1, scale_of(p, train))


def scale_of(p: float, train: bool | None) -> float:
    """What the elements that stay are multiplied by."""
    if train is False:
        return 1.0
    return 0.0 if p == 1 else 1 / (1 - p)


declare(
    "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
    doc="Elements set to zero with probability `p`, the rest scaled; also which ones stayed.",
    spec=_spec,
    vjp={"input": _gradient},
    variants="function",
    random=True,
)
declare(
    "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
    doc="The gradient of `native_dropout`.",
    spec=lambda grad_output, mask, scale: grad_output.fresh(),
    vjp={
        "grad_output": lambda grad, mask, scale: t.native_dropout_backward(grad, mask, scale),
    },
    variants="function",
)


def _nothing_to_drop(input: Any, p: float, train: bool) -> bool:
    _check_probability(p)
    return p == 0 or not train or not input._spec.numel


def _emptied(input: Any) -> Any:
    return input * t.zeros((), dtype=input._spec.dtype, device=input._spec.device)


def _channel_shape(input: Any) -> tuple[int, ...]:
    """One element a sample and channel, broadcasting against the input."""
    shape = input._spec.shape
    if len(shape) < 2:
        raise Mismatch("Feature dropout requires at least 2 dimensions in the input")
    return (*shape[:2], *[1] * (len(shape) - 2))


def _channels(input: Any) -> Any:
    """A constant tensor of one element a sample and channel."""
    shape = _channel_shape(input)
    return t.ones(shape, dtype=input._spec.dtype, device=input._spec.device)


@composite("dropout(Tensor input, float p, bool train) -> Tensor", variants=_FORMS)
def dropout(input: Any, p: float, train: bool) -> Any:
    """Elements set to zero with probability `p`, the rest divided by `1 - p`."""
    if _nothing_to_drop(input, p, train):
        return input
    return _emptied(input) if p == 1 else t.native_dropout(input, p, True)[0]


@composite("feature_dropout(Tensor input, float p, bool train) -> Tensor", variants=_FORMS)
def feature_dropout(input: Any, p: float, train: bool) -> Any:
    """Whole channels set to zero with probability `p`, the rest divided by `1 - p`."""
    if _nothing_to_drop(input, p, train):
        return input
    return _emptied(input) if p == 1 else input * t.native_dropout(_channels(input), p, True)[0]


def _normalised_gaps(input: Any, like: Any, p: float) -> Any:
    """Dropped elements at SELU's limit, and all moved so that mean and variance stay."""
    kept = t.bernoulli(like, 1 - p)
    scale = 1 / math.sqrt((_SELU_LIMIT * _SELU_LIMIT * p + 1) * (1 - p))
    shift = (kept - 1) * (_SELU_LIMIT * scale) + _SELU_LIMIT * scale * p
    return input * (kept * scale) + shift


@composite("alpha_dropout(Tensor input, float p, bool train) -> Tensor", variants=_FORMS)
def alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """Elements dropped so that a SELU network stays normalised."""
    if _nothing_to_drop(input, p, train):
        return input
    return _emptied(input) if p == 1 else _normalised_gaps(input, input.detach(), p)


@composite("feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor", variants=_FORMS)
def feature_alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """Whole channels dropped so that a SELU network stays normalised."""
    if _nothing_to_drop(input, p, train):
        return input
    return _emptied(input) if p == 1 else _normalised_gaps(input, _channels(input), p)
