"""Matrices with zeros above or below a diagonal."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec


def _triangle(self: TensorSpec, diagonal: Any) -> TensorSpec:
    if self.ndim < 2:
        raise Mismatch(f"input tensor must have at least 2 dimensions, got {self.ndim}")
    return self.with_shape(self.shape)


declare(
    "tril(Tensor self, SymInt diagonal=0) -> Tensor",
    doc="Zeros above a diagonal.",
    spec=_triangle,
    vjp={"self": lambda grad, diagonal: t.tril(grad, diagonal)},
    variants="function method inplace out exact",
)

declare(
    "triu(Tensor self, SymInt diagonal=0) -> Tensor",
    doc="Zeros below a diagonal.",
    spec=_triangle,
    vjp={"self": lambda grad, diagonal: t.triu(grad, diagonal)},
    variants="function method inplace out exact",
)
