"""Views that pick a part: one index, a range, a diagonal."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.types.spec import TensorSpec


def _select(self: TensorSpec, dim: int, index: int) -> TensorSpec:
    if self.ndim == 0:
        raise Mismatch("select() cannot be applied to a 0-dim tensor.", IndexError)
    place = wrap_dim(dim, self.ndim)
    size = self.shape[place]
    if not -size <= index < size:
        raise Mismatch(
            f"index {index} out of range for tensor of size {list(self.shape)} "
            f"at dimension {place}",
            IndexError,
        )
    offset = self.offset + (index % size) * self.strides[place]
    return self.window(
        self.shape[:place] + self.shape[place + 1 :],
        self.strides[:place] + self.strides[place + 1 :],
        offset,
    )


def _zeros_like_spec(grad: Any, spec: TensorSpec) -> Any:
    return t.zeros(spec.shape, dtype=grad.dtype, device=grad.device)


declare(
    "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    doc="The slice at `index` of dimension `dim`.",
    spec=_select,
    vjp={
        "self": lambda grad, self_spec, dim, index: t.select_scatter(
            _zeros_like_spec(grad, self_spec), grad, dim, index
        )
    },
    view=True,
)


def slice_bounds(size: int, start: int | None, end: int | None, step: int) -> tuple[int, int, int]:
    """Start, stop and length of a slice, clamped as Python and PyTorch do."""
    if step <= 0:
        raise Mismatch("slice step must be positive")
    first, last, _ = slice(start, end).indices(size)
    last = max(last, first)
    return first, last, -(-(last - first) // step)


def _slice(self: TensorSpec, dim: int, start: Any, end: Any, step: int) -> TensorSpec:
    if self.ndim == 0:
        raise Mismatch("slice() cannot be applied to a 0-dim tensor.")
    place = wrap_dim(dim, self.ndim)
    first, _, length = slice_bounds(self.shape[place], start, end, step)
    shape = (*self.shape[:place], length, *self.shape[place + 1 :])
    stride = self.strides[place] * step
    strides = (*self.strides[:place], stride, *self.strides[place + 1 :])
    return self.window(shape, strides, self.offset + first * self.strides[place])


declare(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)"
    " -> Tensor(a)",
    doc="Every `step`-th element of a range of dimension `dim`.",
    spec=_slice,
    vjp={
        "self": lambda grad, self_spec, dim, start, end, step: t.slice_scatter(
            _zeros_like_spec(grad, self_spec), grad, dim, start, end, step
        )
    },
    view=True,
    variants="",
)


def _same_as_self(self: TensorSpec, *rest: Any) -> TensorSpec:
    return self.fresh()


declare(
    "select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
    doc="A copy of `self` whose slice at `index` of `dim` is `src`.",
    spec=_same_as_self,
    vjp={
        "self": lambda grad, src_spec, dim, index: t.select_scatter(
            grad, _zeros_like_spec(grad, src_spec), dim, index
        ),
        "src": lambda grad, dim, index: t.select(grad, dim, index),
    },
)

declare(
    "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
    "SymInt step=1) -> Tensor",
    doc="A copy of `self` whose slice is `src`.",
    spec=_same_as_self,
    vjp={
        "self": lambda grad, src_spec, dim, start, end, step: t.slice_scatter(
            grad, _zeros_like_spec(grad, src_spec), dim, start, end, step
        ),
        "src": lambda grad, dim, start, end, step: t.slice(grad, dim, start, end, step),
    },
)

__all__ = ["NoGradient", "slice_bounds"]
