"""Running sums and products."""

from __future__ import annotations

from typing import Any

from thunk.ops.declare import declare
from thunk.ops.pointwise.arithmetic import conjugate
from thunk.ops.reduce.products import exclusive_products
from thunk.ops.reduce.sums import sum_dtype
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.ops.scan.recurrence import shifted
from thunk.types.spec import TensorSpec, make_spec

_FORMS = "function method inplace out"


def _running(self: TensorSpec, dim: int, dtype: Any) -> TensorSpec:
    wrap_dim(dim, self.ndim)
    return make_spec(self.shape, sum_dtype(self, dtype), self.device)


def reversed_cumsum(values: Any, dim: int) -> Any:
    """The sum of each element and all behind it."""
    if not values._spec.ndim:
        return values
    return t.flip(t.cumsum(t.flip(values, [dim]), dim), [dim])


declare(
    "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    doc="The running sum along one dimension.",
    spec=_running,
    vjp={"self": lambda grad, dim: reversed_cumsum(grad, dim)},
    variants=_FORMS,
)


def _cumprod_gradient(grad: Any, self: Any, dim: int) -> Any:
    """Product of what lies before, times what flows back through what lies behind."""
    if not self._spec.ndim or self._spec.shape[dim] < 2:
        return grad
    self = self.to(grad._spec.dtype)
    decay = shifted(conjugate(self), dim, True)
    behind = t._linear_recurrence(decay, grad, dim, True)
    return conjugate(exclusive_products(self, dim)) * behind


declare(
    "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    doc="The running product along one dimension.",
    spec=_running,
    vjp={"self": _cumprod_gradient},
    variants=_FORMS,
)
