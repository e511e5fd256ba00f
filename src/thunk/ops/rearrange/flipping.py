"""Elements in another order along dimensions: flip, roll, rot90."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.copy.formats import in_format, suggested_format
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim, wrap_dims
from thunk.types.layout import contiguous_format
from thunk.types.spec import TensorSpec


def _flip(self: TensorSpec, dims: Any) -> TensorSpec:
    wrap_dims(dims, self.ndim)
    return self.fresh()


declare(
    "flip(Tensor self, int[] dims) -> Tensor",
    doc="The order along `dims` reversed.",
    spec=_flip,
    vjp={"self": lambda grad, dims: t.flip(grad, dims)},
    variants="function method out",
)


@composite("fliplr(Tensor self) -> Tensor")
def fliplr(self: Any) -> Any:
    """The order of columns reversed."""
    if self._spec.ndim < 2:
        raise Mismatch(f"Input must be >= 2-d, got {self._spec.ndim}-d.")
    return t.flip(self, (1,))


@composite("flipud(Tensor self) -> Tensor")
def flipud(self: Any) -> Any:
    """The order of rows reversed."""
    if self._spec.ndim < 1:
        raise Mismatch("Input must be >= 1-d, got 0-d.")
    return t.flip(self, (0,))


def _roll(self: TensorSpec, shifts: Any, dims: Any) -> TensorSpec:
    if not shifts:
        raise Mismatch("`shifts` required")
    if len(shifts) != len(dims) and not (len(shifts) == 1 and not dims):
        raise Mismatch(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    for dim in dims:
        wrap_dim(dim, self.ndim, scalar_ok=False)
    return in_format(self, suggested_format(self))


declare(
    "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
    doc="Elements moved along `dims`; those that fall off come in at the other end.",
    spec=_roll,
    vjp={
        "self": lambda grad, shifts, dims: t.roll(grad, tuple(-shift for shift in shifts), dims)
    },
    variants="function method out",
)


@composite(
    "rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", variants="function method out"
)
def rot90(self: Any, k: int, dims: Any) -> Any:
    """The plane of two dimensions turned by `k` quarters."""
    ndim = self._spec.ndim
    if len(dims) != 2:
        raise Mismatch(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise Mismatch(f"expected total dims >= 2, but got total dims = {ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == ndim:
        raise Mismatch(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    for dim in dims:
        if not -ndim <= dim < ndim:
            raise Mismatch(f"Rotation dim out of range, dim = {dim}")
    quarters = k % 4
    if quarters == 1:
        return t.transpose(t.flip(self, (dims[1],)), dims[0], dims[1])
    if quarters == 2:
        return t.flip(self, dims)
    if quarters == 3:
        return t.transpose(t.flip(self, (dims[0],)), dims[0], dims[1])
    return t.clone(self, memory_format=contiguous_format)
