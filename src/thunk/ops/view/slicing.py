"""Views of one index or a range of a dimension, and copies with that part replaced."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.ops.rules.zeros import zeros_for
from thunk.types.dtype import INTEGRAL
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
    return self.window(
        self.shape[:place] + self.shape[place + 1 :],
        self.strides[:place] + self.strides[place + 1 :],
        self.offset + (index % size) * self.strides[place],
    )


declare(
    "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    doc="The slice at `index` of dimension `dim`.",
    spec=_select,
    vjp={
        "self": lambda grad, self_spec, dim, index: t.select_scatter(
            zeros_for(grad, self_spec), grad, dim, index
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
            zeros_for(grad, self_spec), grad, dim, start, end, step
        )
    },
    view=True,
    variants="",
)


def narrow_bounds(self: TensorSpec, dim: int, start: int, length: int) -> tuple[int, int, int]:
    """Dimension, start and end of a `narrow`, checked."""
    if self.ndim == 0:
        raise Mismatch("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise Mismatch(f"narrow(): length must be non-negative, got {length}")
    place = wrap_dim(dim, self.ndim)
    size = self.shape[place]
    if not -size <= start <= size:
        raise Mismatch(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})",
            IndexError,
        )
    first = start + size if start < 0 else start
    if first + length > size:
        raise Mismatch(
            f"start ({first}) + length ({length}) exceeds dimension size ({size}); "
            "expected a range inside the dimension"
        )
    return place, first, first + length


@composite("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)")
def narrow(self: Any, dim: int, start: int, length: int) -> Any:
    """`length` indices of dimension `dim`, from `start` on."""
    place, first, last = narrow_bounds(self._spec, dim, start, length)
    return t.slice(self, place, first, last)


@composite("narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)")
def narrow_tensor(self: Any, dim: int, start: Any, length: int) -> Any:
    """`length` indices of dimension `dim`, from the value of `start` on."""
    if start._spec.shape or start._spec.dtype.category != INTEGRAL:
        raise Mismatch("start must be an 0-dim integral Tensor.")
    return t.narrow(self, dim, start.item(), length)


@composite(
    "narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
    variants="function method out",
)
def narrow_copy(self: Any, dim: int, start: int, length: int) -> Any:
    """A copy of `narrow`."""
    ndim = self._spec.ndim
    if dim >= ndim:
        raise Mismatch(f"expected a dim in range of [{-ndim}, {ndim - 1}], got {dim}")
    place, first, last = narrow_bounds(self._spec, dim, start, length)
    return t.clone(t.slice(self, place, first, last))


def expect_part(self: TensorSpec, part: TensorSpec, src: TensorSpec) -> TensorSpec:
    """The spec of a copy of `self`, after checking that `src` can replace `part`."""
    if src.shape != part.shape:
        raise Mismatch(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.shape)}, slice size = {list(part.shape)}"
        )
    return self.fresh()


declare(
    "select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
    doc="A copy of `self` whose slice at `index` of `dim` is `src`.",
    spec=lambda self, src, dim, index: expect_part(self, _select(self, dim, index), src),
    vjp={
        "self": lambda grad, src_spec, dim, index: t.select_scatter(
            grad, zeros_for(grad, src_spec), dim, index
        ),
        "src": lambda grad, dim, index: t.select(grad, dim, index),
    },
    variants="function method out",
)

declare(
    "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
    "SymInt step=1) -> Tensor",
    doc="A copy of `self` whose slice is `src`.",
    spec=lambda self, src, dim, start, end, step: expect_part(
        self, _slice(self, dim, start, end, step), src
    ),
    vjp={
        "self": lambda grad, src_spec, dim, start, end, step: t.slice_scatter(
            grad, zeros_for(grad, src_spec), dim, start, end, step
        ),
        "src": lambda grad, dim, start, end, step: t.slice(grad, dim, start, end, step),
    },
    variants="function method out",
)
