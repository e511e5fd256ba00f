"""Enters: an operator, and what its inputs were like. Leaves: what PyTorch calls its backward step.

Invariant: the name follows from the declaration, but for the few that stand here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from thunk.ir.opdef import OpDef

# Operators whose parts have other names there.
_BASES = {
    "_conj_physical": "Conj",
    "_native_batch_norm_legit_functional": "NativeBatchNorm",
    "_reshape_copy": "UnsafeView",
    "_counter_dropout": "Mul",
    "native_dropout": "Mul",
}
# Which of several formulas of one name it is; all others are the first.
_NUMBERS = {
    "clamp": 1, "clamp_max.Tensor": 1, "clamp_min.Tensor": 1, "div.Tensor_mode": 2,
    "fmod.Tensor": 1, "index_fill.int_Tensor": 1, "lerp.Tensor": 1, "masked_fill.Tensor": 1,
    "max": 1, "mean.dim": 1, "median.dim": 1, "min": 1, "nanmedian.dim": 1, "prod.dim_int": 1,
    "remainder.Tensor": 1, "round.decimals": 1, "scatter.value": 1, "squeeze.dim": 1,
    "squeeze.dims": 2, "sum.dim_IntList": 1,
}  # fmt: skip
# Operators that take numbers for tensors: by which of the two is a tensor.
_BY_TENSORS: dict[str, dict[tuple[str, ...], str]] = {
    "div.Tensor": {("other",): "MulBackward0"},
    "pow.Tensor_Tensor": {
        ("self", "exponent"): "PowBackward1", ("self",): "PowBackward0",
        ("exponent",): "PowBackward2",
    },
    "sub.Tensor": {("other",): "RsubBackward1"},
}  # fmt: skip
# `linear` is a product there, and what gives its result the shape: by bias, then by rank.
_LINEAR: dict[bool, dict[int, str]] = {
    True: {2: "AddmmBackward0"},
    False: {1: "SqueezeBackward4", 2: "MmBackward0"},
}
_LINEAR_OTHERWISE = {True: "ViewBackward0", False: "UnsafeViewBackward0"}


def backward_name(op: OpDef, inputs: Mapping[str, object], rank: int) -> str:
    """The name, from the tensors that `op` was given and the rank of the first."""
    own = op.full_name.removeprefix("aten::")
    if own == "linear":
        bias = "bias" in inputs
        return _LINEAR[bias].get(rank, _LINEAR_OTHERWISE[bias])
    known = _BY_TENSORS.get(own, {}).get(tuple(inputs))
    if known is not None:
        return known
    base = _BASES.get(op.name) or _in_capitals(op.name)
    return f"{base}Backward{_NUMBERS.get(own, 0)}"


def _in_capitals(name: str) -> str:
    """`_cdist_forward` -> `Cdist`, `nll_loss2d` -> `NllLoss2D`."""
    parts = name.strip("_").removesuffix("_forward").split("_")
    joined = "".join(part.capitalize() for part in parts)
    return re.sub(r"(\d)([a-z])", lambda found: found[1] + found[2].upper(), joined)


__all__ = ["backward_name"]
