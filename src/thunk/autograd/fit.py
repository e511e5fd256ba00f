"""Enters: a gradient as a formula made it. Leaves: one of exactly the input's shape and dtype.

Invariant: formulas may ignore broadcasting and promotion; what they leave is summed and cast here.
"""

from __future__ import annotations

from typing import Any

from thunk.ops.registry import t
from thunk.types.spec import TensorSpec


def fit(gradient: Any, spec: TensorSpec) -> Any:
    """`gradient` reduced over broadcast dimensions and cast to `spec`."""
    if gradient._spec.shape != spec.shape:
        gradient = sum_to(gradient, spec.shape)
    have, want = gradient._spec.dtype, spec.dtype
    if have is not want:
        if have.is_complex and not want.is_complex:
            gradient = t.real(gradient)
        if gradient._spec.dtype is not want:
            gradient = gradient.to(want)
    return gradient


def sum_to(gradient: Any, shape: tuple[int, ...]) -> Any:
    """Sum the dimensions along which a tensor of `shape` was broadcast."""
    have = gradient._spec.shape
    lead = len(have) - len(shape)
    fitting = zip(shape, have[max(lead, 0) :])
    if lead < 0 or any(want not in (1, size) for want, size in fitting):
        raise RuntimeError(
            f"expected a gradient of a shape that reduces to {list(shape)}, got {list(have)}"
        )
    extra = tuple(range(lead))
    kept = tuple(
        lead + d for d, want in enumerate(shape) if want == 1 and have[lead + d] != 1
    )  # fmt: skip
    if extra or kept:
        gradient = t.sum(gradient, extra + kept, keepdim=True)
    if extra:
        gradient = t.reshape(gradient, shape)
    return gradient
