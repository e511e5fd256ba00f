"""Windows given by strides, and their adjoints: what every other view is a case of."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec, contiguous_strides


def _as_strided(self: TensorSpec, size: Any, stride: Any, storage_offset: Any) -> TensorSpec:
    if len(size) != len(stride):
        raise Mismatch(
            f"mismatch in length of strides and shape, got {list(stride)} and {list(size)}"
        )
    if any(each < 0 for each in stride):
        raise Mismatch(
            "as_strided: Negative strides are not supported at the moment, "
            f"got strides: {list(stride)}"
        )
    return self.window(tuple(size), tuple(stride), storage_offset)


def _as_strided_backward(
    grad: Any, self_spec: TensorSpec, size: Any, stride: Any, storage_offset: Any
) -> Any:
    offset = self_spec.offset if storage_offset is None else storage_offset
    window = TensorSpec(tuple(size), self_spec.dtype, tuple(stride), offset)
    length = max(self_spec.extent(), window.extent())
    flat = t.zeros((length,), dtype=grad.dtype, device=grad.device)
    places = t.arange(length, device=grad.device)
    flat = t.index_add(
        flat, 0, t.as_strided(places, window.shape, window.strides, offset).reshape(-1),
        grad.reshape(-1),
    )  # fmt: skip
    return t.as_strided(flat, self_spec.shape, self_spec.strides, self_spec.offset)


declare(
    "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor(a)",
    doc="A window of any shape and strides into the storage of `self`.",
    spec=_as_strided,
    vjp={"self": _as_strided_backward},
    view=True,
)

declare(
    "detach(Tensor(a) self) -> Tensor(a)",
    doc="The same values without history.",
    spec=lambda self: self,
    vjp=NoGradient("detach() cuts the history"),
    view=True,
)

declare(
    "alias(Tensor(a) self) -> Tensor(a)",
    doc="A view of all of `self`.",
    spec=lambda self: self,
    vjp={"self": lambda grad: grad},
    view=True,
    variants="",
)


def _relayout(self: TensorSpec, strides: Any) -> TensorSpec:
    fresh = TensorSpec(self.shape, self.dtype, tuple(strides), 0, self.device)
    if fresh.is_non_overlapping_and_dense():
        return fresh
    return TensorSpec(self.shape, self.dtype, contiguous_strides(self.shape), 0, self.device)


declare(
    "relayout(Tensor self, int[] strides) -> Tensor",
    doc="A copy whose elements lie as `strides` say.",
    spec=_relayout,
    vjp={"self": lambda grad: grad},
    variants="",
)


def _as_strided_scatter(
    self: TensorSpec, src: TensorSpec, size: Any, stride: Any, offset: Any
) -> TensorSpec:
    if src.shape != tuple(size):
        raise Mismatch(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.shape)}, slice size = {list(size)}"
        )
    return self.fresh()


declare(
    "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor",
    doc="A copy of `self` whose window of the given shape and strides holds `src`.",
    spec=_as_strided_scatter,
    vjp={
        "self": lambda grad, size, stride, storage_offset, src_spec: t.as_strided_scatter(
            grad.contiguous(),
            t.zeros(src_spec.shape, dtype=src_spec.dtype),
            size,
            stride,
            storage_offset,
        ),
        "src": lambda grad, size, stride, storage_offset: t.as_strided(
            grad.contiguous(), size, stride, storage_offset
        ),
    },
)
