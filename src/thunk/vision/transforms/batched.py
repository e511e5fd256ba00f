"""Enters: a transform of single pictures. Leaves: the same for whole arrays of them, or None.

Invariant: only transforms that treat pixels one by one and draw nothing have such a form, and its
results are bit for bit those of the single pictures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from thunk.types.promotion import get_default_dtype
from thunk.vision.transforms.combine import Compose
from thunk.vision.transforms.convert import Normalize, ToTensor
from thunk.vision.transforms.functional.convert import (
    fresh,
    normalized,
    per_channel_numbers,
    scaled,
)

Batch = numpy.ndarray


def on_batch(transform: Any, channels: int) -> Callable[[Batch], Any] | None:
    """A function of pictures x height x width x channels bytes that gives the batch of tensors."""
    steps: list[Any] = list(transform.transforms) if type(transform) is Compose else [transform]
    if not steps or type(steps[0]) is not ToTensor:
        return None
    rest = steps[1:]
    if any(type(step) is not Normalize or step.inplace for step in rest):
        return None
    if any(_has_hooks(step) or not _is_valid(step, channels) for step in rest):
        return None

    def transformed(pixels: Batch) -> Any:
        planes = scaled(pixels.transpose(0, 3, 1, 2))
        for step in rest:
            planes = normalized(planes, step.mean, step.std)
        return fresh(planes)

    return transformed


def _has_hooks(step: Any) -> bool:
    return bool(step._forward_hooks or step._forward_pre_hooks)


def _is_valid(step: Any, channels: int) -> bool:
    """Whether the single form would not refuse the parameters."""
    if not per_channel_numbers(step.mean, step.std, channels):
        return False
    return bool((numpy.asarray(step.std, get_default_dtype().numpy) != 0).all())
