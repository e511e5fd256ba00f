"""Clones, casts, fills and the functional form of writes."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes
from thunk.types.dtype import FLOATING
from thunk.types.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
)
from thunk.types.spec import TensorSpec, contiguous_strides


def format_strides(shape: tuple[int, ...], wanted: Any) -> tuple[int, ...]:
    """Strides of a dense tensor in memory format `wanted`."""
    ndim = {channels_last: 4, channels_last_3d: 5}.get(wanted)
    if ndim is None:
        return contiguous_strides(shape)
    if len(shape) != ndim:
        raise expected(f"a tensor with {ndim} dimensions for {wanted!r}", f"{len(shape)}")
    order = (0, *range(2, ndim), 1)
    moved = contiguous_strides(tuple(shape[d] for d in order))
    strides = [0] * ndim
    for position, dim in enumerate(order):
        strides[dim] = moved[position]
    return tuple(strides)


def _clone(self: TensorSpec, memory_format: Any) -> TensorSpec:
    if memory_format is None or memory_format is preserve_format:
        return self.fresh()
    return TensorSpec(
        self.shape, self.dtype, format_strides(self.shape, memory_format), 0, self.device
    )


declare(
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    doc="A copy that gradients flow through.",
    spec=_clone,
    vjp={"self": lambda grad: grad},
)


@composite(
    "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
    variants="method",
)
def contiguous(self: Any, memory_format: Any = contiguous_format) -> Any:
    """`self` if its elements already lie in that order, else a copy that does."""
    spec = self._spec
    wanted = format_strides(spec.shape, memory_format)
    if memory_format is contiguous_format and spec.is_contiguous():
        return self
    if memory_format is not contiguous_format and spec.strides == wanted:
        return self
    return t.clone(self, memory_format=memory_format)


def _to_copy(self: TensorSpec, dtype: Any, device: Any, memory_format: Any) -> TensorSpec:
    laid = _clone(self, memory_format)
    return TensorSpec(
        laid.shape, dtype or self.dtype, laid.strides, 0, device or self.device
    )


declare(
    "cast(Tensor self, *, ScalarType? dtype=None, Device? device=None, "
    "MemoryFormat? memory_format=None) -> Tensor",
    doc="A copy in another dtype or on another device.",
    spec=_to_copy,
    vjp={"self": lambda grad, self_spec: t.cast(grad, device=self_spec.device)},
    variants="",
)


def _copy(self: TensorSpec, src: TensorSpec, non_blocking: bool) -> TensorSpec:
    if broadcast_shapes([self.shape, src.shape]) != self.shape:
        raise expected(
            f"a source that broadcasts to {list(self.shape)}", f"shape {list(src.shape)}"
        )
    return self.fresh()


declare(
    "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
    doc="The values of `src`, broadcast and cast to `self`.",
    spec=_copy,
    vjp={
        "self": lambda grad: t.zeros_like(grad),
        "src": lambda grad, src_spec: t.cast(grad, device=src_spec.device),
    },
    variants="inplace",
)

declare(
    "fill.Scalar(Tensor self, Scalar value) -> Tensor",
    doc="One value everywhere, in the shape of `self`.",
    spec=lambda self, value: self.fresh(),
    vjp={"self": lambda grad: t.zeros_like(grad)},
    variants="function inplace",
)
declare(
    "fill.Tensor(Tensor self, Tensor value) -> Tensor",
    doc="The value of a 0-dim tensor everywhere, in the shape of `self`.",
    spec=lambda self, value: _fill_tensor(self, value),
    vjp={"self": lambda grad: t.zeros_like(grad), "value": lambda grad: t.sum(grad)},
    variants="function inplace",
)
declare(
    "zero(Tensor self) -> Tensor",
    doc="Zeros in the shape of `self`.",
    spec=lambda self: self.fresh(),
    vjp={"self": lambda grad: t.zeros_like(grad)},
    variants="inplace",
)


def _fill_tensor(self: TensorSpec, value: TensorSpec) -> TensorSpec:
    if value.shape:
        raise expected(
            "a 0-dimensional value tensor", f"tensor with {value.ndim} dimension(s)",
        )  # fmt: skip
    return self.fresh()


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


declare(
    "full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    doc="One value in the shape, dtype and layout of `self`.",
    spec=lambda self, fill_value, dtype, layout, device, pin_memory, memory_format: _to_copy(
        self, dtype, device, memory_format
    ),
    vjp=NoGradient("the values do not depend on `self`"),
    variants="function",
)


@composite("real(Tensor(a) self) -> Tensor(a)", variants="function")
def real(self: Any) -> Any:
    """The real part; `self` where it is real already."""
    if self._spec.dtype.category <= FLOATING:
        return self
    return t.view_as_real(self).select(-1, 0)
