"""Enters: a gradient and a spec. Leaves: zeros to place the gradient in.

Invariant: zeros have the gradient's dtype, which promotion may have made wider than the spec's.
"""

from __future__ import annotations

from typing import Any

from thunk.ops.registry import t
from thunk.types.spec import TensorSpec


def zeros_for(grad: Any, spec: TensorSpec) -> Any:
    """Zeros in the shape of `spec`, dtype and device of `grad`."""
    return t.zeros(spec.shape, dtype=grad.dtype, device=grad.device)


def filled_gaps(grads: list[Any], specs: list[TensorSpec]) -> list[Any]:
    """`grads` with zeros of the right shape where a result had no gradient."""
    known = next(grad for grad in grads if grad is not None)
    return [
        zeros_for(known, spec) if grad is None else grad
        for grad, spec in zip(grads, specs, strict=True)
    ]
