"""Gradients of random samples: the subject against finite differences of itself, seed held.

In: the same case and sample as in `gradients.py`, in double precision. Out: nothing, or `Mismatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .compare import Mismatch
from .convert import collect_tensors, to_array
from .subject import Subject

STEP = 1e-6
TOLERANCE = 1e-4


def check_direction(subject: Subject, sample: Any, value: Callable[[Any], list[Any]],
                    slope: Callable[[Any], list[Any]]) -> None:
    """Move every differentiable input along a fixed direction.

    `value(sample)` gives the results, already weighted so that their sum is the function;
    `slope(sample)` gives its gradient in each differentiable input, in order.
    """
    directions = fixed_directions(sample)
    after, before = (total(subject, value(moved(sample, directions, sign * STEP)))
                     for sign in (1.0, -1.0))
    measured = (after - before) / (2 * STEP)
    stated = 0.0
    for given, direction in zip(slope(sample), directions.values(), strict=True):
        if given is not None:
            stated += float((to_array(subject, given) * direction.numpy()).sum())
    if not np.isclose(stated, measured, rtol=TOLERANCE, atol=TOLERANCE):
        raise Mismatch(f"expected slope {measured:.8g} by finite differences, got {stated:.8g}")


def fixed_directions(sample: Any) -> dict[int, torch.Tensor]:
    found: dict[int, torch.Tensor] = {}
    collect_tensors((sample.input, sample.args, sample.kwargs), found)
    generator = torch.Generator().manual_seed(7)
    return {key: torch.randn(tensor.shape, dtype=tensor.dtype, generator=generator)
            for key, tensor in found.items() if tensor.requires_grad}


def moved(sample: Any, directions: dict[int, torch.Tensor], step: float) -> Any:
    def move(value: Any) -> Any:
        if id(value) not in directions:
            return value
        return (value + step * directions[id(value)]).requires_grad_(True)

    return sample.transform(move)


def total(subject: Subject, results: list[Any]) -> float:
    return sum(float(to_array(subject, item).sum()) for item in results if item is not None)
