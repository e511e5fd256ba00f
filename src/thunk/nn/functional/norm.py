"""Normalisation under the names and signatures of `torch.nn.functional`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from thunk.ops import families
from thunk.ops.registry import t

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize",
    "rms_norm",
]  # fmt: skip

DECLARED = families.FAMILIES


def _check_values_per_channel(size: Sequence[int]) -> None:
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )


def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Channels normalised over samples and places, or by the running statistics."""
    if training:
        _check_values_per_channel(input.size())
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return t.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )  # fmt: skip


def instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None,
    bias: Any = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Channels of each sample normalised on their own."""
    if use_input_stats and math.prod(input.size()[2:]) == 1:
        raise ValueError(
            "Expected more than 1 spatial element when training, got input size "
            f"{input.size()}"
        )
    return t.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )  # fmt: skip


def layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None,
    eps: float = 1e-5,
) -> Any:  # fmt: skip
    """The last dimensions normalised, scaled and shifted."""
    return t.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None
) -> Any:
    """The last dimensions divided by the root of their mean square, scaled."""
    return t.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Groups of channels normalised, scaled and shifted."""
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    samples, channels, *places = input.size()
    _check_values_per_channel([samples * channels // num_groups, num_groups, *places])
    return t.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    """Every element divided by a power of the mean square of its neighbours across channels."""
    ndim = input.dim()
    if ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {ndim} dimensions)")
    if input.numel() == 0:
        return input
    square = input * input
    before, channels = size // 2, input.shape[1]
    shape = list(square.shape)
    parts = [square]
    for position, count in ((0, before), (2, (size - 1) // 2)):
        shape[1] = count
        zeros = t.zeros(shape, dtype=square.dtype, device=square.device)
        parts.insert(position, zeros)
    padded = t.cat(parts, 1)
    total = t.narrow(padded, 1, 0, channels)
    for offset in range(1, size):
        total = total + t.narrow(padded, 1, offset, channels)
    return input / t.pow(total / size * alpha + k, beta)


def normalize(
    input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Any:
    """Vectors along a dimension divided by their p-norms (at least `eps`)."""
    length = t.norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / length if out is None else t.div(input, length, out=out)
