"""Batch normalisation: over samples and places of every channel.

Enters: pictures, weight and bias a channel, running statistics. Leaves: channels of mean zero and
variance one, scaled and shifted. Invariant: one operator without side effects normalises and says
what the running statistics become; the operators that PyTorch names write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch
from thunk.dispatch.state import no_grad_recording
from thunk.ops.declare import composite, declare
from thunk.ops.norm.group import check_channels
from thunk.ops.norm.layer import statistics_dtype
from thunk.ops.norm.second import Normalised, living, second_gradients
from thunk.ops.registry import t
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, picture_spec, plain_spec
from thunk.types.spec import TensorSpec

_AFFINE = "Tensor input, Tensor? weight, Tensor? bias"
_STEP = "float momentum, float eps"


def _spec(
    input: TensorSpec, weight: TensorSpec | None, bias: TensorSpec | None,
    running_mean: TensorSpec | None, running_var: TensorSpec | None, training: bool,
    momentum: float, eps: float,
) -> tuple[TensorSpec | None, ...]:  # fmt: skip
    if input.ndim < 2:
        raise Mismatch(
            f"expected an input of at least 2 dimensions, got {input.ndim}; pass (samples, "
            "channels, ...)"
        )
    channels = input.shape[1]
    if (running_mean is None) != (running_var is None):
        raise Mismatch(
            "running_mean and running_var must either both be None or neither be None", ValueError
        )
    if not training and (running_mean is None or running_var is None):
        raise Mismatch("running_mean and running_var must be defined in evaluation mode")
    check_channels(
        channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    check_dtype(input, FLOATING_ONLY)
    kept = plain_spec(input, (channels,), statistics_dtype(input, weight, bias, running_mean))
    updated = training and running_mean is not None
    moved = (
        running_mean.with_shape((channels,)) if updated and running_mean is not None else None,
        running_var.with_shape((channels,)) if updated and running_var is not None else None,
    )
    return picture_spec(input, input.shape), kept, kept, *moved


def _normalised(
    input: Any, mean: Any, rstd: Any, weight: Any, fixed: bool
) -> tuple[Normalised, tuple[int, ...]]:
    """Operands that broadcast against the input, and the shape of one element a channel."""
    ndim = input._spec.ndim
    shape = (1, -1) + (1,) * (ndim - 2)
    dims = (0, *range(2, ndim))
    scale = None if weight is None else weight.reshape(shape)
    norm = Normalised(input, mean.reshape(shape), rstd.reshape(shape), scale, dims, fixed)
    return norm, shape


def _gradient(
    grad: Any, input: Any, weight: Any, training: bool, eps: float, result1: Any, result2: Any,
    needed: Any,
) -> Any:  # fmt: skip
    return t.native_batch_norm_backward(
        grad, input, weight, None, None, result1, result2, training, eps, needed
    )  # fmt: skip


declare(
    f"_native_batch_norm_legit_functional({_AFFINE}, Tensor? running_mean, Tensor? running_var, "
    f"bool training, {_STEP}) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, "
    "Tensor running_var_out)",
    doc="Batch normalisation; also returns the mean and inverse standard deviation that served, "
    "and what the running statistics become (None unless training).",
    spec=_spec,
    vjp={("input", "weight", "bias"): _gradient, ("running_mean", "running_var"): (
        lambda: (None, None)
    )},
    variants="function",
    constants="1 2 3 4",
)


def _backward_spec(
    grad_out: TensorSpec, input: TensorSpec, weight: TensorSpec | None, running_mean: Any,
    running_var: Any, save_mean: Any, save_invstd: Any, train: bool, eps: float,
    output_mask: Sequence[bool],
) -> tuple[TensorSpec | None, ...]:  # fmt: skip
    channels = plain_spec(weight or input, (input.shape[1],))
    found = (picture_spec(input, input.shape), channels, channels)
    return tuple([spec if wanted else None for spec, wanted in zip(found, output_mask)])


def _second(
    grads: Any, grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any,
    save_mean: Any, save_invstd: Any, train: bool, eps: float,
) -> Any:  # fmt: skip
    if not train and running_mean is not None:
        save_mean, save_invstd = running_mean, t.rsqrt(running_var + eps)
    norm, shape = _normalised(input, save_mean, save_invstd, weight, not train)
    if train:
        norm.mean, norm.rstd = living(input, norm.mean, norm.rstd, norm.dims)
    to_input, to_weight, to_bias = grads
    for_grad, for_input, for_weight = second_gradients(
        norm, grad_out, to_input,
        None if to_weight is None else to_weight.reshape(shape),
        None if to_bias is None else to_bias.reshape(shape),
    )  # fmt: skip
    if for_grad is not None:
        for_grad = for_grad.expand(input._spec.shape)
    if for_weight is not None:
        for_weight = t.sum(for_weight, norm.dims)
    return for_grad, for_input, for_weight, None, None, None, None


declare(
    "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, "
    "Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, "
    "bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    doc="The gradients of batch normalisation for input, weight and bias; None if not asked for.",
    spec=_backward_spec,
    vjp={
        (
            "grad_out", "input", "weight", "running_mean", "running_var", "save_mean",
            "save_invstd",
        ): _second
    },
    variants="",
)  # fmt: skip


def _normalise(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: float, eps: float,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Normalise and write the running statistics; without training no statistics are returned."""
    output, mean, rstd, new_mean, new_var = t._native_batch_norm_legit_functional(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    with no_grad_recording():
        if new_mean is not None:
            running_mean.copy_(new_mean)
        if new_var is not None:
            running_var.copy_(new_var)
    if training:
        return output, mean, rstd
    nothing = t.zeros((0,), dtype=mean._spec.dtype, device=mean._spec.device)
    return output, nothing, nothing.clone()


@composite(
    f"native_batch_norm({_AFFINE}, Tensor? running_mean, Tensor? running_var, bool training, "
    f"{_STEP}) -> (Tensor, Tensor, Tensor)",
    variants="function out",
)
def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: float, eps: float,
) -> Any:  # fmt: skip
    """Batch normalisation with the batch's mean and inverse standard deviation."""
    return _normalise(input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite(
    f"_native_batch_norm_legit({_AFFINE}, Tensor(a!) running_mean, Tensor(b!) running_var, "
    f"bool training, {_STEP}) -> (Tensor, Tensor, Tensor)",
    variants="function",
)
def _native_batch_norm_legit(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: float, eps: float,
) -> Any:  # fmt: skip
    """Batch normalisation that says which statistics it writes."""
    return _normalise(input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite(
    f"_native_batch_norm_legit.no_stats({_AFFINE}, bool training, {_STEP})"
    " -> (Tensor, Tensor, Tensor)",
    variants="function",
)
def _native_batch_norm_legit_no_stats(
    input: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> Any:
    """Batch normalisation without running statistics."""
    return _normalise(input, weight, bias, None, None, training, momentum, eps)


@composite(
    f"_batch_norm_with_update({_AFFINE}, Tensor(a!) running_mean, Tensor(b!) running_var, "
    f"{_STEP}) -> (Tensor, Tensor, Tensor, Tensor)",
    variants="function",
)
def _batch_norm_with_update(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float,
    eps: float,
) -> Any:  # fmt: skip
    """Batch normalisation in training; the last result is reserved and empty."""
    found = _normalise(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *found, t.zeros((0,), dtype=input._spec.dtype, device=input._spec.device)


@composite(
    f"batch_norm({_AFFINE}, Tensor? running_mean, Tensor? running_var, bool training, {_STEP}, "
    "bool cudnn_enabled) -> Tensor",
    variants="function",
)
def batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: float, eps: float, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """Channels normalised to mean zero and variance one, scaled and shifted."""
    if not input._spec.numel:
        return _nothing(input, weight, bias)
    return _normalise(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@composite(
    f"instance_norm({_AFFINE}, Tensor? running_mean, Tensor? running_var, bool use_input_stats, "
    f"{_STEP}, bool cudnn_enabled) -> Tensor",
    variants="function",
)
def instance_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """Channels of each sample normalised on their own: a batch of one with as many channels."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise Mismatch(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    samples, channels, *places = input._spec.shape
    own_mean, own_var = _repeated(running_mean, samples), _repeated(running_var, samples)
    output = _normalise(
        input.reshape((1, samples * channels, *places)), _repeated(weight, samples),
        _repeated(bias, samples), own_mean, own_var, use_input_stats, momentum, eps,
    )[0]  # fmt: skip
    with no_grad_recording():
        for running, own in ((running_mean, own_mean), (running_var, own_var)):
            if running is not None and use_input_stats:
                running.copy_(t.mean(own.reshape((samples, channels)), (0,)))
    return output.reshape(input._spec.shape)


def _nothing(input: Any, weight: Any, bias: Any) -> Any:
    """An input without elements, whatever its dimensions; weight and bias get zero gradients."""
    output = input.clone()
    if weight is not None:
        output = output * t.select(weight, 0, 0)
    return output if bias is None else output + t.select(bias, 0, 0)


def _repeated(value: Any, samples: int) -> Any:
    """One copy of a channel's element for every sample."""
    if value is None:
        return None
    channels = value._spec.numel
    return value.expand((samples, channels)).reshape((samples * channels,)).clone()
