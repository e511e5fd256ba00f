"""Clones, fills and the functional form of writes."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import NoGradient
from thunk.ops.copy.formats import in_format, lies_in
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes
from thunk.ops.rules.numbers import check_fits
from thunk.ops.rules.places import placed
from thunk.types.layout import contiguous_format, preserve_format
from thunk.types.spec import TensorSpec

declare(
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    doc="A copy that gradients flow through.",
    spec=in_format,
    vjp={"self": lambda grad: grad},
)


@composite(
    "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
    variants="method",
)
def contiguous(self: Any, memory_format: Any = contiguous_format) -> Any:
    """`self` if its elements already lie in that order, else a copy that does."""
    if memory_format is preserve_format:
        raise expected(
            "a memory format", "preserve_format: preserve memory format is unsupported by the "
            "contiguous operator", "use clone()",
        )  # fmt: skip
    if lies_in(self._spec, memory_format):
        return self
    return t.clone(self, memory_format=memory_format)


def _copy(self: TensorSpec, src: TensorSpec, non_blocking: bool) -> TensorSpec:
    if broadcast_shapes([self.shape, src.shape]) != self.shape:
        raise Mismatch(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape "
            f"{list(broadcast_shapes([self.shape, src.shape]))}"
        )
    return self.fresh()


declare(
    "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
    doc="The values of `src`, broadcast and cast to `self`.",
    spec=_copy,
    vjp={
        "self": lambda grad: t.zeros_like(grad),
        "src": lambda grad, src_spec: t._to_copy(grad, device=src_spec.device),
    },
    variants="inplace out",
)


def _fill(self: TensorSpec, value: Any) -> TensorSpec:
    check_fits(value, self.dtype)
    return self.fresh()


def _fill_tensor(self: TensorSpec, value: TensorSpec) -> TensorSpec:
    if value.shape:
        raise expected(
            "a 0-dimensional value tensor", f"tensor with {value.ndim} dimension(s)",
        )  # fmt: skip
    return self.fresh()


declare(
    "fill.Scalar(Tensor self, Scalar value) -> Tensor",
    doc="One value everywhere, in the shape of `self`.",
    spec=_fill,
    vjp={"self": lambda grad: t.zeros_like(grad)},
    variants="function inplace out idempotent",
)
declare(
    "fill.Tensor(Tensor self, Tensor value) -> Tensor",
    doc="The value of a 0-dim tensor everywhere, in the shape of `self`.",
    spec=_fill_tensor,
    vjp={"self": lambda grad: t.zeros_like(grad), "value": lambda grad: t.sum(grad)},
    variants="function inplace out idempotent",
)
declare(
    "zero(Tensor self) -> Tensor",
    doc="Zeros in the shape of `self`.",
    spec=lambda self: self.fresh(),
    vjp={"self": lambda grad: t.zeros_like(grad)},
    variants="function inplace out idempotent",
)


@composite(
    "zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    variants="function",
)
def zeros_like(
    self: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    memory_format: Any = None,
) -> Any:  # fmt: skip
    """Zeros in the shape, dtype and layout of `self`."""
    return t.full_like(self, 0, dtype=dtype, device=device, memory_format=memory_format)


def _full_like(
    self: TensorSpec, fill_value: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any,
    memory_format: Any,
) -> TensorSpec:  # fmt: skip
    laid = in_format(self, memory_format)
    where = placed(device, self.device)
    return TensorSpec(laid.shape, dtype or self.dtype, laid.strides, 0, where)


declare(
    "full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    doc="One value in the shape, dtype and layout of `self`.",
    spec=_full_like,
    vjp=NoGradient("the values do not depend on `self`"),
    variants="function",
)


declare(
    "with_history(Tensor value, Tensor history) -> Tensor",
    doc="The values of one tensor with the gradient's way of another: a write autograd ignores.",
    spec=lambda value, history: value,
    vjp={"history": lambda grad: grad, "value": lambda grad: None},
    variants="",
)
