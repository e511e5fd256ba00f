"""Running largest and smallest values with their indices."""

from __future__ import annotations

from typing import Any

from thunk.ops.declare import declare
from thunk.ops.reduce.shapes import refuse_dtypes
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec


def _running(self: TensorSpec, dim: int) -> tuple[TensorSpec, TensorSpec]:
    wrap_dim(dim, self.ndim)
    refuse_dtypes(self, "complex", "wide unsigned")
    values = self.with_shape(self.shape)
    return values, values.with_dtype(int64)


def _gradient(grad: Any, result1: Any, self_spec: TensorSpec, dim: int) -> Any:
    zeros = t.zeros(self_spec.shape, dtype=grad._spec.dtype, device=self_spec.device)
    return t.scatter_add(zeros, dim, result1, grad) if self_spec.numel else grad


def _declare_running(name: str, doc: str) -> None:
    declare(
        f"{name}(Tensor self, int dim) -> (Tensor values, Tensor indices)",
        doc=f"The {doc} value so far along one dimension and its last index.",
        spec=_running,
        vjp={"self": _gradient},
        variants="function method out",
    )


_declare_running("cummax", "largest")
_declare_running("cummin", "smallest")
