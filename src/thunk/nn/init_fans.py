"""Enters: a tensor's shape, a nonlinearity's name. Leaves: fans and gains that scale weights.

Invariant: the first dimension counts outputs, the second inputs, the rest is the receptive field.
"""

from __future__ import annotations

import math
from typing import Any

_LINEAR = frozenset({
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "sigmoid",
})  # fmt: skip
_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
_MODES = ["fan_in", "fan_out"]


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor by which weights before `nonlinearity` are scaled to keep variances."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + slope**2))


def fans(tensor: Any) -> tuple[int, int]:
    """How many inputs each output sees, and how many outputs each input reaches."""
    shape = tensor.shape
    if len(shape) < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def fan_of(tensor: Any, mode: str) -> int:
    """The fan that `mode` names."""
    lowered = mode.lower()
    if lowered not in _MODES:
        raise ValueError(f"Mode {lowered} not supported, please use one of {_MODES}")
    return fans(tensor)[_MODES.index(lowered)]
