"""Sum, mean and any."""

from __future__ import annotations

from typing import Any

from thunk.ir.opdef import NoGradient
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import reduced_shape, wrap_dims
from thunk.types.dtype import INTEGRAL, bool_, dtype, int64
from thunk.types.spec import TensorSpec, make_spec


def sum_dtype(self: TensorSpec, wanted: dtype | None) -> dtype:
    """Integers and bool are summed in int64."""
    if wanted is not None:
        return wanted
    return int64 if self.dtype.category <= INTEGRAL else self.dtype


def _sum(self: TensorSpec, dim: Any, keepdim: bool, dtype: Any) -> TensorSpec:
    shape = reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim)
    return make_spec(shape, sum_dtype(self, dtype), self.device)


def restore(grad: Any, spec: TensorSpec, dim: Any, keepdim: bool) -> Any:
    """A reduction's gradient with the reduced dimensions back, broadcast to the input."""
    if not keepdim:
        dims = wrap_dims(dim, spec.ndim)
        grad = t.reshape(grad, reduced_shape(spec.shape, dims, True))
    return grad.expand(spec.shape)


declare(
    "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    doc="The sum of all elements.",
    spec=lambda self, dtype: _sum(self, None, False, dtype),
    vjp={"self": lambda grad, self_spec: grad.expand(self_spec.shape)},
    variants="function method out",
)
declare(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    doc="The sum along dimensions.",
    spec=_sum,
    vjp={
        "self": lambda grad, self_spec, dim, keepdim: restore(grad, self_spec, dim, keepdim),
    },
    variants="function method out",
)
declare(
    "any(Tensor self) -> Tensor",
    doc="Whether any element is not zero.",
    spec=lambda self: make_spec((), bool_, self.device),
    vjp=NoGradient("the result is boolean"),
    variants="function method out",
)
