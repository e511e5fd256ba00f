"""Sorting along one dimension and the largest or smallest few."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.reduce.shapes import refuse_dtypes, selected_gradient
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec

_FORMS = "function method out"
_RESULTS = "(Tensor values, Tensor indices)"


def _sorted(
    self: TensorSpec, stable: bool | None, dim: int, descending: bool
) -> tuple[TensorSpec, TensorSpec]:
    wrap_dim(dim, self.ndim)
    refuse_dtypes(self, "complex", kind=RuntimeError)
    values = self.fresh()
    return values, values.with_dtype(int64)


def _order_gradient(grad: Any, result1: Any, self_spec: TensorSpec, dim: int) -> Any:
    """The gradient of rearranged values: each back to where it came from."""
    return selected_gradient(grad, result1, self_spec, dim)


@composite(f"sort(Tensor self, int dim=-1, bool descending=False) -> {_RESULTS}", variants=_FORMS)
def sort(self: Any, dim: int = -1, descending: bool = False) -> Any:
    """The values in order along one dimension and where they came from."""
    return t.sort(self, stable=False, dim=dim, descending=descending)


declare(
    f"sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> {_RESULTS}",
    doc="The values in order along one dimension; NaN is the largest, equals keep their order.",
    spec=_sorted,
    vjp={"self": _order_gradient},
    variants=_FORMS,
)


@composite("msort(Tensor self) -> Tensor", variants=_FORMS)
def msort(self: Any) -> Any:
    """The values in order along the first dimension."""
    return t.sort(self, 0)[0]


@composite(
    "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", variants="function method"
)
def argsort(self: Any, dim: int = -1, descending: bool = False) -> Any:
    """The indices that put the values in order."""
    return t.sort(self, dim, descending)[1]


@composite(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
    variants=_FORMS,
)
def argsort_stable(self: Any, *, stable: bool, dim: int = -1, descending: bool = False) -> Any:
    """The indices that put the values in order, equals in the order they had."""
    return t.sort(self, stable=stable, dim=dim, descending=descending)[1]


def _topk(
    self: TensorSpec, k: int, dim: int, largest: bool, sorted: bool
) -> tuple[TensorSpec, TensorSpec]:
    position = wrap_dim(dim, self.ndim)
    size = self.shape[position] if self.ndim else 1
    if not 0 <= k <= size:
        raise Mismatch(f"selected index k out of range: expected 0 to {size}, got {k}")
    refuse_dtypes(self, "complex", "bool", kind=RuntimeError)
    refuse_dtypes(self, "wide unsigned")
    shape = tuple(k if d == position else each for d, each in enumerate(self.shape))
    values = self.with_shape(shape)
    return values, values.with_dtype(int64)


declare(
    f"topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> {_RESULTS}",
    doc="The `k` largest or smallest values along one dimension and their indices.",
    spec=_topk,
    vjp={"self": _order_gradient},
    variants=_FORMS,
)
