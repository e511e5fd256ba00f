"""Enters: the options of a group. Leaves: the numbers that update rules take.

Invariant: they are floats whatever was written, so no learning rate makes a new program; a tensor
among them is never read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thunk.optim.saving import scalar_dtype
from thunk.types.tensor_base import TensorBase


def number(value: Any) -> Any:
    """A number as the float that the rules take; of a tensor, the 0-dim one."""
    if type(value) is float:
        return value
    if isinstance(value, TensorBase):
        single: Any = value
        return single.squeeze() if single.dim() else single
    return float(value)


def number_or_none(value: Any) -> Any:
    """As `number`; None for an option that is off."""
    return number(value) if isinstance(value, TensorBase) or value != 0 else None


def as_saved(value: Any) -> Any:
    """A number of the state as a state dict would keep it, so that a resumed run has its bits."""
    return value if isinstance(value, TensorBase) else float(scalar_dtype().numpy.type(value))


def decay_numbers(group: Mapping[str, Any]) -> dict[str, Any]:
    """Weight decay, through the gradient or as a shrinking of the parameter itself."""
    decay = number_or_none(group["weight_decay"])
    if decay is None or not group["decoupled_weight_decay"]:
        return {"weight_decay": decay, "shrink": None}
    return {"weight_decay": None, "shrink": 1 - number(group["lr"]) * decay}


def moment_numbers(group: Mapping[str, Any]) -> dict[str, Any]:
    """What the rules of Adam and its relatives have in common."""
    beta1, beta2 = group["betas"]
    beta1, beta2 = number(beta1), number(beta2)
    found = {
        "mean_weight": 1 - beta1,
        "square_decay": beta2,
        "square_weight": 1 - beta2,
        "eps": number(group["eps"]),
    }
    found.update(decay_numbers(group))
    return found
