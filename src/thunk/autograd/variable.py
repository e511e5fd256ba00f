"""`Variable`: what tensors with gradients were called once. Making one gives the tensor."""

from __future__ import annotations

from typing import Any

from thunk.autograd.api import set_requires_grad
from thunk.types.tensor_base import TensorBase


class _VariableMeta(type):
    """Every tensor is a Variable."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TensorBase)


class Variable(metaclass=_VariableMeta):
    """`Variable(x)` is `x`."""

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        if requires_grad:
            set_requires_grad(data, True)
        return data
