"""Group normalisation: over the places of every group of channels.

Enters: pictures, weight and bias a channel. Leaves: groups of mean zero and variance one, scaled
and shifted. Invariant: `mean` and `rstd` have one element a sample and group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.norm.layer import check_affine_dtypes, statistics_dtype
from thunk.ops.norm.second import (
    Normalised,
    living,
    plus,
    second_gradients,
    through_results,
)
from thunk.ops.registry import t
from thunk.ops.rules.spatial import (
    FLOATING_ONLY,
    check_dtype,
    picture_spec,
    plain_spec,
    suggests_channels_last,
)
from thunk.types.spec import TensorSpec

_SIZES = "SymInt N, SymInt C, SymInt HxW, int group"


def check_channels(channels: int, **affine: TensorSpec | None) -> None:
    """Weight and bias must be vectors of one element a channel."""
    for name, spec in affine.items():
        if spec is not None and spec.shape != (channels,):
            raise Mismatch(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {list(spec.shape)} and {channels} channels"
            )


def _spec(
    input: TensorSpec, weight: TensorSpec | None, bias: TensorSpec | None, N: int, C: int,
    HxW: int, group: int, eps: float,
) -> tuple[TensorSpec, ...]:  # fmt: skip
    if group <= 0 or C % group:
        raise Mismatch(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={group}"
        )
    if input.numel != N * C * HxW:
        raise Mismatch(f"expected {N} * {C} * {HxW} elements, got {input.numel}; fix the sizes")
    if not input.is_contiguous() and not suggests_channels_last(input):
        raise Mismatch("expected a contiguous input, got strides; call .contiguous() first")
    check_channels(C, weight=weight, bias=bias)
    check_dtype(input, FLOATING_ONLY)
    check_affine_dtypes(input, weight, bias)
    kept = plain_spec(input, (N, group), statistics_dtype(input, weight, bias))
    return picture_spec(input, input.shape), kept, kept


def _grouped(
    input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int, group: int
) -> tuple[Normalised, tuple[int, ...]]:
    """Operands as (sample, group, channel of the group, place), and that shape."""
    shape = (N, group, C // group, HxW)
    kept = (N, group, 1, 1)
    scale = None if weight is None else weight.reshape((1, group, C // group, 1))
    norm = Normalised(
        input.reshape(shape), mean.reshape(kept), rstd.reshape(kept), scale, (2, 3)
    )  # fmt: skip
    return norm, shape


def _gradient(
    grads: Any, input: Any, weight: Any, N: int, C: int, HxW: int, group: int, result1: Any,
    result2: Any, needed: Any,
) -> Any:  # fmt: skip
    found: list[Any] = [None, None, None]
    if grads[0] is not None:
        found = list(t.native_group_norm_backward(
            grads[0], input, result1, result2, weight, N, C, HxW, group, needed
        ))  # fmt: skip
    if needed[0] and (grads[1] is not None or grads[2] is not None):
        norm, _ = _grouped(input, result1, result2, weight, N, C, HxW, group)
        to_mean, to_rstd = [
            None if each is None else each.reshape((N, group, 1, 1)) for each in grads[1:]
        ]
        added = through_results(norm, to_mean, to_rstd, C // group * HxW)
        found[0] = plus(found[0], added.reshape(input._spec.shape))
    return found


declare(
    f"native_group_norm(Tensor input, Tensor? weight, Tensor? bias, {_SIZES}, float eps)"
    " -> (Tensor, Tensor, Tensor)",
    doc="Group normalisation; also returns the means and the inverse standard deviations.",
    spec=_spec,
    vjp={("input", "weight", "bias"): _gradient},
    variants="function",
)


def _backward_spec(
    grad_out: TensorSpec, input: TensorSpec, mean: TensorSpec, rstd: TensorSpec,
    weight: TensorSpec | None, N: int, C: int, HxW: int, group: int, output_mask: Sequence[bool],
) -> tuple[TensorSpec | None, ...]:  # fmt: skip
    channels = plain_spec(weight or input, (C,))
    found = (picture_spec(input, input.shape), channels, channels)
    return tuple([spec if wanted else None for spec, wanted in zip(found, output_mask)])


def _second(
    grads: Any, grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int,
    HxW: int, group: int,
) -> Any:  # fmt: skip
    norm, shape = _grouped(input, mean, rstd, weight, N, C, HxW, group)
    norm.mean, norm.rstd = living(norm.input, norm.mean, norm.rstd, norm.dims)
    channels = (1, group, C // group, 1)
    to_input, to_weight, to_bias = grads
    for_grad, for_input, for_weight = second_gradients(
        norm,
        grad_out.reshape(shape),
        None if to_input is None else to_input.reshape(shape),
        None if to_weight is None else to_weight.reshape(channels),
        None if to_bias is None else to_bias.reshape(channels),
    )
    if for_grad is not None:
        for_grad = for_grad.expand(shape).reshape(grad_out._spec.shape)
    if for_input is not None:
        for_input = for_input.reshape(input._spec.shape)
    if for_weight is not None:
        for_weight = t.sum(for_weight, (0, 3)).reshape((C,))
    return for_grad, for_input, for_weight, None, None


declare(
    "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, "
    f"Tensor? weight, {_SIZES}, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    doc="The gradients of `native_group_norm` for input, weight and bias; None if not asked for.",
    spec=_backward_spec,
    vjp={("grad_out", "input", "weight", "mean", "rstd"): _second},
    variants="",
)


@composite(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
    variants="function",
)
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    """Groups of channels normalised to mean zero and variance one, scaled and shifted."""
    shape = input._spec.shape
    if len(shape) < 2:
        raise Mismatch(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}; "
            "pass (samples, channels, ...)"
        )
    if num_groups <= 0:
        raise Mismatch(f"Expected num groups to be greater than 0, got {num_groups}")
    places = math.prod(shape[2:])
    if not suggests_channels_last(input._spec):
        input = input.contiguous()
    return t.native_group_norm(
        input, weight, bias, shape[0], shape[1], places, num_groups, eps
    )[0]  # fmt: skip
