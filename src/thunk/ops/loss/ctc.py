"""Connectionist temporal classification: the likelihood of a label sequence over all alignments.

Enters: log probabilities of (time, sample, class), targets padded or one after the other, lengths.
Leaves: losses. Invariant: the gradient is PyTorch's, which is that of the logits below the log
softmax and differs from that of `log_probs` by a part that the softmax's gradient removes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import composite, declare
from thunk.ops.loss.reduction import MEAN, reduced
from thunk.ops.registry import t
from thunk.ops.rules.spatial import check_dtype, plain_spec
from thunk.runtime.tensors import tensor_from_array
from thunk.types.dtype import float32, float64, int32, int64
from thunk.types.spec import TensorSpec

Ints = Sequence[int]


def _spec(
    log_probs: TensorSpec, targets: TensorSpec, input_lengths: Ints, target_lengths: Ints,
    blank: int, zero_infinity: bool,
) -> tuple[TensorSpec, TensorSpec]:  # fmt: skip
    if log_probs.ndim != 3:
        raise expected("log_probs of 3 dimensions (time, sample, class)", f"{log_probs.ndim}")
    check_dtype(log_probs, (), float32, float64)
    if targets.dtype not in (int32, int64):
        raise expected("targets of dtype int32 or int64", repr(targets.dtype), "use .long()")
    times, samples, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise Mismatch(f"blank must be in label range: expected 0 to {classes - 1}, got {blank}")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != samples:
            raise Mismatch(f"{name} must be of size batch_size ({samples}), got {len(lengths)}")
        if min(lengths, default=0) < 0:
            raise Mismatch(f"{name} must be nonnegative, got {list(lengths)}")
    if not samples:
        raise Mismatch("expected at least one sample in log_probs, got none")
    if max(input_lengths) > times:
        raise Mismatch(
            f"Expected input_lengths to have value at most {times}, but got value "
            f"{max(input_lengths)}"
        )
    _check_targets(targets, samples, target_lengths)
    states = 2 * max(target_lengths) + 1
    return plain_spec(log_probs, (samples,)), plain_spec(log_probs, (samples, times, states))


def _check_targets(targets: TensorSpec, samples: int, lengths: Ints) -> None:
    if targets.ndim == 1:
        fits = targets.shape[0] == sum(lengths)
        wanted: object = f"[{sum(lengths)}], the sum of target_lengths"
    elif targets.ndim == 2:
        fits = targets.shape[0] == samples and targets.shape[1] >= max(lengths)
        wanted = f"[{samples}, at least {max(lengths)}]"
    else:
        raise expected("targets of 1 or 2 dimensions", f"{targets.ndim}")
    if not fits:
        raise expected(f"targets of shape {wanted}", list(targets.shape))


def _gradient(
    grad: Any, log_probs: Any, targets: Any, input_lengths: Ints, target_lengths: Ints,
    result0: Any, result1: Any, blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    return t._ctc_loss_backward(
        grad, log_probs, targets, input_lengths, target_lengths, result0, result1, blank,
        zero_infinity,
    )  # fmt: skip


_LENGTHS = "int[] input_lengths, int[] target_lengths"
_TENSOR_LENGTHS = "Tensor input_lengths, Tensor target_lengths"

declare(
    f"_ctc_loss(Tensor log_probs, Tensor targets, {_LENGTHS}, int blank=0, "
    "bool zero_infinity=False) -> (Tensor, Tensor)",
    doc="The loss of each sample, and the log probabilities of all beginnings of alignments.",
    spec=_spec,
    vjp={"log_probs": _gradient},
    variants="function",
    constants="1",
)
declare(
    f"_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, {_LENGTHS}, "
    "Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor",
    doc="The gradient of `_ctc_loss`.",
    spec=lambda grad, log_probs, *_: plain_spec(log_probs, log_probs.shape),
    vjp=MissingGradient("PyTorch defines no second gradient of the CTC loss"),
    variants="",
)


def _numbers(lengths: Any) -> list[int]:
    if lengths._spec.dtype not in (int32, int64):
        raise expected("lengths of an integer dtype", repr(lengths._spec.dtype), "use .long()")
    return [int(each) for each in lengths.reshape((-1,)).tolist()]


@composite(
    f"_ctc_loss.Tensor(Tensor log_probs, Tensor targets, {_TENSOR_LENGTHS}, int blank=0, "
    "bool zero_infinity=False) -> (Tensor, Tensor)",
    variants="function",
)
def _ctc_loss_tensor(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """`_ctc_loss` with lengths as tensors."""
    return t._ctc_loss(
        log_probs, targets, _numbers(input_lengths), _numbers(target_lengths), blank,
        zero_infinity,
    )  # fmt: skip


@composite(
    f"ctc_loss.IntList(Tensor log_probs, Tensor targets, {_LENGTHS}, int blank=0, "
    "int reduction=1, bool zero_infinity=False) -> Tensor",
    variants="function",
    autocast="float32",
)
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: int = 1, zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """How unlikely label sequences are; the mean is taken per label, then per sample."""
    batched = log_probs._spec.ndim == 3
    probs = log_probs if batched else t.unsqueeze(log_probs, 1)
    loss = t._ctc_loss(probs, targets, input_lengths, target_lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = t.where(t.eq(loss, float("inf")), t.zeros_like(loss), loss)
    if reduction == MEAN:
        counts = [max(int(each), 1) for each in target_lengths]
        return t.mean(loss / tensor_from_array(numpy.array(counts, loss._spec.dtype.numpy)))
    if reduction == 0 and not batched:
        return t.squeeze(loss, 0)
    return reduced(loss, reduction)


@composite(
    f"ctc_loss.Tensor(Tensor log_probs, Tensor targets, {_TENSOR_LENGTHS}, int blank=0, "
    "int reduction=1, bool zero_infinity=False) -> Tensor",
    variants="function",
    autocast="float32",
)
def ctc_loss_tensor(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: int = 1, zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """`ctc_loss` with lengths as tensors."""
    return t.ctc_loss(
        log_probs, targets, _numbers(input_lengths), _numbers(target_lengths), blank, reduction,
        zero_infinity,
    )  # fmt: skip
