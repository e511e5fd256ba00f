"""Elements chosen by truth: masked_fill, masked_select, masked_scatter, where."""

from __future__ import annotations

import warnings
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import Formula
from thunk.ops.declare import composite, declare
from thunk.ops.index.checks import expect_same_dtype
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes
from thunk.ops.rules.numbers import check_fits
from thunk.ops.rules.pointwise import pointwise_spec
from thunk.types.dtype import bool_, uint8
from thunk.types.promotion import result_type
from thunk.types.spec import TensorSpec, make_spec


def _expect_mask(mask: TensorSpec, also_bytes: bool = False) -> None:
    if mask.dtype is bool_ or (also_bytes and mask.dtype is uint8):
        return
    raise expected("a mask of dtype bool", repr(mask.dtype), "compare, or convert it with .bool()")


def _masked_fill(self: TensorSpec, mask: TensorSpec, value: Any) -> TensorSpec:
    _expect_mask(mask)
    if isinstance(value, TensorSpec):
        if value.shape:
            raise Mismatch(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s)."
            )
        if value.dtype.is_complex and not self.dtype.is_complex:
            raise expected(f"a value that fits {self.dtype!r}", repr(value.dtype), "use .real")
    else:
        check_fits(value, self.dtype)
    return self.with_shape(broadcast_shapes([self.shape, mask.shape]))


def _chosen_sum(grad: Any, mask: Any) -> Any:
    return t.sum(t.where(mask, grad, 0))


declare(
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    doc="The value of a 0-dim tensor where `mask` is true, else `self`.",
    spec=_masked_fill,
    vjp={
        "self": lambda grad, mask: t.masked_fill(grad, mask, 0),
        "value": _chosen_sum,
    },
    variants="function method inplace out",
)
declare(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    doc="`value` where `mask` is true, else `self`.",
    spec=_masked_fill,
    vjp={"self": lambda grad, mask: t.masked_fill(grad, mask, 0)},
    variants="function method inplace out",
)


def _masked_select(self: TensorSpec, mask: TensorSpec) -> TensorSpec:
    _expect_mask(mask, also_bytes=True)
    broadcast_shapes([self.shape, mask.shape])
    return make_spec((0,), self.dtype, self.device)


def _select_back(grad: Any, self_spec: TensorSpec, mask: Any) -> Any:
    shape = broadcast_shapes([self_spec.shape, mask._spec.shape])
    blank = t.zeros(shape, dtype=grad.dtype, device=grad.device)
    return t.masked_scatter(blank, mask.to(bool_), grad)


declare(
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    doc="The elements where `mask` is true, in one dimension.",
    spec=_masked_select,
    vjp={"self": _select_back},
    dynamic_shape=True,
    variants="function method out apart",
)


def _masked_scatter(self: TensorSpec, mask: TensorSpec, source: TensorSpec) -> TensorSpec:
    _expect_mask(mask)
    expect_same_dtype(self, source)
    return self.with_shape(broadcast_shapes([self.shape, mask.shape]))


declare(
    "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    doc="The elements of `source`, one after the other, where `mask` is true, else `self`.",
    spec=_masked_scatter,
    vjp={
        "self": lambda grad, mask: t.masked_fill(grad, mask, 0),
        "source": lambda grad, mask, source_spec: t.masked_scatter_backward(
            grad, mask, source_spec.shape
        ),
    },
    raises_on_data="mask",
    variants="function method inplace",
)

declare(
    "masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor",
    doc="The elements where `mask` is true, zeros after them up to the sizes of the source.",
    spec=lambda grad_output, mask, sizes: grad_output.with_shape(tuple(sizes)),
    vjp={
        "grad_output": lambda grad, grad_output_spec, mask: t.masked_scatter(
            t.zeros(grad_output_spec.shape, dtype=grad.dtype, device=grad.device), mask, grad
        )
    },
    variants="",
)


def _where(condition: TensorSpec, self: Any, other: Any) -> TensorSpec:
    if condition.dtype is uint8:
        warnings.warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed in a future version of PyTorch. Use a boolean condition instead.",
            UserWarning,
            stacklevel=2,
        )
    elif condition.dtype is not bool_:
        raise expected(
            "condition to be a boolean tensor", f"a tensor with dtype {condition.dtype!r}",
            "compare, or convert it with .bool()",
        )  # fmt: skip
    element = result_type([self, other])
    return pointwise_spec((condition, self, other), lambda operands: element)


def _chosen(first: bool) -> Formula:
    if first:
        return lambda grad, condition: t.where(condition, grad, 0)
    return lambda grad, condition: t.where(condition, 0, grad)


declare(
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    doc="`self` where `condition` is true, else `other`.",
    spec=_where,
    vjp={"self": _chosen(True), "other": _chosen(False)},
    numbers="self other",
    variants="function method out",
)


@composite("where(Tensor condition) -> Tensor[]", variants="function")
def where_places(condition: Any) -> Any:
    """The coordinates of the elements that are not zero, a tensor a dimension."""
    return t.nonzero(condition, as_tuple=True)
