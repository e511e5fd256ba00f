"""Enters: a tensor and a normal distribution cut off at two ends. Leaves: the tensor, filled.

Invariant: numbers are drawn from the generator in PyTorch's order, so that one seed gives the same
values: whole tensors are drawn again until nothing is left outside the ends.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.ops.registry import t

_ENOUGH = 0.3  # probability of a hit from which plain rejection is the cheaper way


def fill_truncated(
    tensor: Any, mean: float, std: float, low: float, high: float, generator: Any
) -> Any:
    """Fill `tensor` with normal values between `low` and `high`."""
    if tensor.is_meta:
        return tensor
    if mean < low - 2 * std or mean > high + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=3,
        )
    inside = _below((high - mean) / std) - _below((low - mean) / std)
    with no_grad_recording():
        if inside > _ENOUGH:
            _redraw_outside(tensor, mean, std, low, high, generator)
        else:
            _reject_uniform(tensor, mean, std, low, high, generator)
    return tensor


def _below(value: float) -> float:
    """The standard normal distribution function."""
    return (1.0 + math.erf(value / math.sqrt(2.0))) / 2.0


def _redraw_outside(
    tensor: Any, mean: float, std: float, low: float, high: float, generator: Any
) -> None:
    # The ends are rounded as the tensor's values are, so that equality means the same.
    bottom = tensor.new_tensor(low, device="cpu").item()
    top = tensor.new_tensor(high, device="cpu").item()
    result = tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (result < bottom) | (result > top)
        if not outside.any():
            break
        fresh = t.empty_like(result).normal_(mean, std, generator=generator)
        result = t.where(outside, fresh, result)
    if result is not tensor:
        tensor.copy_(result)


def _reject_uniform(
    tensor: Any, mean: float, std: float, low: float, high: float, generator: Any
) -> None:
    """Uniform candidates are kept with the probability that the density gives them."""
    peak = -0.5 * ((max(low, min(mean, high)) - mean) / std) ** 2
    threshold = t.empty_like(tensor)

    def refused(candidates: Any) -> Any:
        density = candidates.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return threshold.uniform_(generator=generator).log_().gt(density)

    result = tensor.uniform_(low, high, generator=generator)
    pending = refused(result)
    while pending.any():
        fresh = t.empty_like(tensor).uniform_(low, high, generator=generator)
        result = t.where(pending, fresh, result)
        pending = t.where(pending, refused(fresh), pending)
    if result is not tensor:
        tensor.copy_(result)
