"""Enters: parameters, or a vector. Leaves: one vector of them, or parameters set from it.

Invariant: both directions use the order in which the parameters are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thunk.ops.registry import t
from thunk.tensor.queries import typename
from thunk.types.tensor_base import TensorBase


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All parameters as one vector."""
    return t.cat([each.view(-1) for each in _on_one_device(parameters)])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Make every parameter a part of `vec`, whose memory they share from then on."""
    if not isinstance(vec, TensorBase):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    vector: Any = vec
    start = 0
    for each in _on_one_device(parameters):
        end = start + each.numel()
        each.data = vector[start:end].view_as(each).data
        start = end


def _on_one_device(parameters: Iterable[Any]) -> list[Any]:
    given = list(parameters)
    if len({each.device for each in given}) > 1:
        raise TypeError(
            "Found two parameters on different devices, this is currently not supported."
        )
    return given
