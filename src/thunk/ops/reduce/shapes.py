"""Enters: a reduction's operand and dimensions. Leaves: its result's spec, or PyTorch's error.

Invariant: results are row-major; reductions without an identity refuse empty dimensions here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.registry import t
from thunk.ops.rules.dims import reduced_shape, wrap_dim, wrap_dims
from thunk.types.dtype import bool_, dtype, int64, uint16, uint32, uint64
from thunk.types.spec import TensorSpec, make_spec

WIDE_UNSIGNED = frozenset({uint16, uint32, uint64})


def reduction(self: TensorSpec, dim: Any, keepdim: bool, element: dtype | None = None) -> Any:
    """The spec of a reduction over `dim` (None or () means all dimensions)."""
    shape = reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim)
    return make_spec(shape, element or self.dtype, self.device)


def count_of(self: TensorSpec, dim: Any) -> int:
    """How many elements each result is made of."""
    return math.prod(self.shape[each] for each in wrap_dims(dim, self.ndim))


def refuse_empty(self: TensorSpec, dim: Any, whole: type[Exception] = RuntimeError) -> None:
    """Complain where nothing would be reduced and there is no identity to answer with."""
    if self.numel:
        return
    if dim is None or dim == ():
        raise Mismatch(
            "Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
            "dim with the 'dim' argument.",
            whole,
        )
    for each in (dim,) if isinstance(dim, int) else dim:
        if self.shape[wrap_dim(each, self.ndim)] == 0:
            raise Mismatch(f"Expected reduction dim {each} to have non-zero size.", IndexError)


def refuse_dtypes(
    self: TensorSpec, *refused: str, kind: type[Exception] = NotImplementedError
) -> None:
    """Complain about dtypes of the groups "bool", "complex", "integral" or "wide unsigned"."""
    groups: dict[str, bool] = {
        "bool": self.dtype is bool_,
        "complex": self.dtype.is_complex,
        "integral": not self.dtype.is_inexact and self.dtype is not bool_,
        "wide unsigned": self.dtype in WIDE_UNSIGNED,
    }
    for group in refused:
        if groups[group]:
            raise expected(
                "a tensor of another dtype", repr(self.dtype), "convert it first", kind=kind
            )


def along_one(
    self: TensorSpec, dim: int, keepdim: bool, element: dtype | None = None
) -> TensorSpec:
    """The spec of a reduction along one dimension."""
    position = wrap_dim(dim, self.ndim)
    dims = (position,) if self.ndim else ()
    shape = reduced_shape(self.shape, dims, keepdim)
    return make_spec(shape, element or self.dtype, self.device)


def selection(self: TensorSpec, dim: int, keepdim: bool) -> tuple[TensorSpec, TensorSpec]:
    """The specs of values picked along one dimension, and of their indices."""
    refuse_empty(self, dim)
    values = along_one(self, dim, keepdim)
    return values, values.with_dtype(int64)


def restore(grad: Any, spec: TensorSpec, dim: Any, keepdim: bool) -> Any:
    """A reduction's result with the reduced dimensions back as ones."""
    if keepdim or not spec.ndim:
        return grad
    return t.reshape(grad, reduced_shape(spec.shape, wrap_dims(dim, spec.ndim), True))


def spread(grad: Any, spec: TensorSpec, dim: Any, keepdim: bool) -> Any:
    """A reduction's gradient, broadcast to its input."""
    return restore(grad, spec, dim, keepdim).expand(spec.shape)


def selected_gradient(
    grad: Any, indices: Any, spec: TensorSpec, dim: int, keepdim: bool = True
) -> Any:
    """The gradient of values picked along `dim`: all of it to the element that was picked."""
    if not keepdim and spec.ndim:
        grad, indices = t.unsqueeze(grad, dim), t.unsqueeze(indices, dim)
    zeros = t.zeros(spec.shape, dtype=grad._spec.dtype, device=spec.device)
    return t.scatter(zeros, dim, indices, grad)


def picks(name: str) -> dict[str, Callable[..., Any]]:
    """The `vjp` of an operator that returns (values, indices) along `dim`."""
    return {
        name: lambda grad, result1, self_spec, dim, keepdim: selected_gradient(
            grad, result1, self_spec, dim, keepdim
        )
    }


def evenly_among_equals(grad: Any, self: Any, result: Any) -> Any:
    """The gradient of one element's value, shared by all elements of that value."""
    both_nan = t.logical_and(t.isnan(self), t.isnan(result))
    mask = t.logical_or(t.eq(self, result), both_nan)
    return mask * (grad / t.sum(mask))
