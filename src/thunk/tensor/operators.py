"""Enters: nothing. Leaves: `Operators`, the class that `tensor.methods` fills from declarations.

Invariant: what Python attaches here at import is what the generated stub beside this file says.
"""

from __future__ import annotations

from thunk.types.tensor_base import TensorBase


class Operators(TensorBase):
    """The methods and Python operators of `Tensor` that are declared operators."""

    __slots__ = ()
