"""Enters: losses of single elements and PyTorch's number for a reduction. Leaves: the loss.

Invariant: 0 keeps every loss, 1 is their mean, 2 their sum.
"""

from __future__ import annotations

from typing import Any

from thunk.ops.registry import t
from thunk.types.spec import TensorSpec

NONE, MEAN, SUM = range(3)


def reduced(loss: Any, reduction: int) -> Any:
    """The losses, their mean or their sum."""
    if reduction == MEAN:
        return t.mean(loss)
    return t.sum(loss) if reduction == SUM else loss


def per_element(grad: Any, reduction: int, spec: TensorSpec) -> Any:
    """The gradient of each loss of a tensor of `spec`; a reduced one broadcasts."""
    return grad / max(spec.numel, 1) if reduction == MEAN else grad


def reduced_spec(spec: TensorSpec, reduction: int) -> TensorSpec:
    """The spec of a loss over elements of `spec`."""
    return spec if reduction == NONE else spec.with_shape(())
