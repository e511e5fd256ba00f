"""Views that regroup dimensions: view, reshape, flatten, squeeze and their kin."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import infer_size, wrap_dim, wrap_dims
from thunk.types.spec import TensorSpec, contiguous_strides


def view_strides(spec: TensorSpec, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides that show `spec`'s elements in `shape` without a copy, None if there are none."""
    if spec.numel == 0:
        return contiguous_strides(shape) if shape != spec.shape else spec.strides
    if not spec.shape:
        return (1,) * len(shape)
    result = [0] * len(shape)
    place = len(shape) - 1
    run_stride = spec.strides[-1]
    run_size = filled = 1
    for dim in range(len(spec.shape) - 1, -1, -1):
        run_size *= spec.shape[dim]
        if dim > 0 and _continues(spec, dim, run_size * run_stride):
            continue
        while place >= 0 and (filled < run_size or shape[place] == 1):
            result[place] = filled * run_stride
            filled *= shape[place]
            place -= 1
        if filled != run_size:
            return None
        if dim > 0:
            run_stride = spec.strides[dim - 1]
            run_size = filled = 1
    return tuple(result) if place == -1 else None


def _continues(spec: TensorSpec, dim: int, stride: int) -> bool:
    """Whether the dimension before `dim` goes on where `dim` ends."""
    return spec.shape[dim - 1] == 1 or spec.strides[dim - 1] == stride


def _view(self: TensorSpec, size: Any) -> TensorSpec:
    shape = infer_size(size, self.numel)
    strides = view_strides(self, shape)
    if strides is None:
        raise Mismatch(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return self.window(shape, strides)


declare(
    "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    doc="The same elements, in row-major order, in another shape, without a copy.",
    spec=_view,
    vjp={"self": lambda grad, self_spec: t.reshape(grad, self_spec.shape)},
    view=True,
    variants="method",
)


@composite("view_as(Tensor(a) self, Tensor other) -> Tensor(a)", variants="method")
def view_as(self: Any, other: Any) -> Any:
    """`view` in the shape of `other`."""
    return self.view(other._spec.shape)


@composite("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)")
def reshape(self: Any, shape: tuple[int, ...]) -> Any:
    """The same elements in another shape; a view where strides allow it, else a copy."""
    shape = infer_size(shape, self._spec.numel)
    if view_strides(self._spec, shape) is not None:
        return self.view(shape)
    return t._reshape_copy(self, shape)


declare(
    "_reshape_copy(Tensor self, SymInt[] size) -> Tensor",
    doc="A row-major copy of the elements in another shape.",
    spec=lambda self, size: self.with_shape(infer_size(size, self.numel)),
    vjp={"self": lambda grad, self_spec: t.reshape(grad, self_spec.shape)},
    variants="",
)


@composite("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", variants="method")
def reshape_as(self: Any, other: Any) -> Any:
    """`reshape` in the shape of `other`."""
    return t.reshape(self, other._spec.shape)


@composite("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)")
def flatten(self: Any, start_dim: int, end_dim: int) -> Any:
    """Dimensions `start_dim` to `end_dim` joined into one."""
    shape = self._spec.shape
    first, last = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if first > last:
        raise Mismatch("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return t.reshape(self, (1,))
    if first == last:
        return self
    joined = 1
    for size in shape[first : last + 1]:
        joined *= size
    return t.reshape(self, (*shape[:first], joined, *shape[last + 1 :]))


@composite("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)")
def unflatten(self: Any, dim: int, sizes: tuple[int, ...]) -> Any:
    """Dimension `dim` split into several of the given sizes."""
    shape = self._spec.shape
    place = wrap_dim(dim, len(shape))
    if not sizes:
        raise Mismatch("sizes must be non-empty")
    if not shape:
        raise Mismatch("expected a tensor with dimensions, got a 0-dim tensor", IndexError)
    try:
        parts = infer_size(sizes, shape[place])
    except Mismatch as mismatch:
        raise Mismatch(
            f"Provided sizes {list(sizes)} don't multiply up to the size of dim {place} "
            f"({shape[place]}) in the input tensor: {mismatch.message}"
        ) from None
    return self.view((*shape[:place], *parts, *shape[place + 1 :]))


@composite("ravel(Tensor(a) self) -> Tensor(a)")
def ravel(self: Any) -> Any:
    """All elements in one dimension."""
    return self.contiguous().view((-1,))


def _unsqueeze(self: TensorSpec, dim: int) -> TensorSpec:
    place = wrap_dim(dim, self.ndim + 1)
    stride = self.shape[place] * self.strides[place] if place < self.ndim else 1
    shape = (*self.shape[:place], 1, *self.shape[place:])
    return self.window(shape, (*self.strides[:place], stride, *self.strides[place:]))


declare(
    "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
    doc="A dimension of size one inserted.",
    spec=_unsqueeze,
    vjp={"self": lambda grad, dim: t.squeeze(grad, dim)},
    view=True,
    variants="function method inplace",
)


def _without_ones(self: TensorSpec, dims: Any) -> TensorSpec:
    kept = [d for d, size in enumerate(self.shape) if not (d in dims and size == 1)]
    return self.window(tuple(self.shape[d] for d in kept), tuple(self.strides[d] for d in kept))


def _squeeze_all(self: TensorSpec) -> TensorSpec:
    return _without_ones(self, range(self.ndim))


def _squeeze_dims(self: TensorSpec, dim: Any) -> TensorSpec:
    if isinstance(dim, int):
        return _without_ones(self, (wrap_dim(dim, self.ndim),))
    return _without_ones(self, wrap_dims(dim, self.ndim) if dim else ())


_UNSQUEEZE = {"self": lambda grad, self_spec: t.reshape(grad, self_spec.shape)}

declare(
    "squeeze(Tensor(a) self) -> Tensor(a)",
    doc="Without the dimensions of size one.",
    spec=_squeeze_all,
    vjp=_UNSQUEEZE,
    view=True,
    variants="function method inplace",
)
declare(
    "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    doc="Without dimension `dim` if its size is one.",
    spec=_squeeze_dims,
    vjp=_UNSQUEEZE,
    view=True,
    variants="function method inplace",
)
declare(
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    doc="Without those of `dim` whose size is one.",
    spec=_squeeze_dims,
    vjp=_UNSQUEEZE,
    view=True,
    variants="function method inplace",
)
