"""Max unpooling: elements go back to the places that max pooling took them from.

Enters: elements and their flat indices in planes of the given size. Leaves: those planes, zero
elsewhere. Invariant: of several elements for one place the last stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.pool.geometry import check_picture, take_from_planes
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, picture_spec
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec


def _unpooled(
    self: TensorSpec, indices: TensorSpec, output_size: Sequence[int], dims: int
) -> TensorSpec:
    if indices.dtype is not int64:
        raise Mismatch(
            f"elements in indices should be type int64 but got: {indices.dtype!r}; "
            "use the indices that max pooling returned"
        )
    if len(output_size) != dims:
        raise Mismatch(f"There should be exactly {dims} elements in output_size, got {output_size}")
    check_picture(self, dims)
    if self.shape != indices.shape:
        raise Mismatch(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(self.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    check_dtype(self, FLOATING_ONLY)
    shape = (*self.shape[:-dims], *output_size)
    if min(output_size) < 0:
        raise Mismatch(f"expected output_size that is not negative, got {list(output_size)}")
    return picture_spec(self, shape, channels_last=None if dims == 2 else False)


def _unpooled_volume(
    self: TensorSpec, indices: TensorSpec, output_size: Any, stride: Any, padding: Any
) -> TensorSpec:
    for name, values in (("stride", stride), ("padding", padding)):
        if len(values) != 3:
            raise Mismatch(
                f"There should be exactly three elements (depth, height, width) in {name}, "
                f"got {list(values)}"
            )
    if min(stride) <= 0:
        raise Mismatch(f"strides should be greater than zero, but got stride: {list(stride)}")
    return _unpooled(self, indices, output_size, 3)


declare(
    "max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
    doc="Elements put back where max pooling found them, zeros elsewhere.",
    spec=lambda self, indices, output_size: _unpooled(self, indices, output_size, 2),
    vjp={"self": lambda grad, indices: take_from_planes(grad, indices, 2)},
    variants="function out",
    module="nn",
    raises_on_data="indices",
    autocast="float32",
)
declare(
    "max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, "
    "int[3] padding) -> Tensor",
    doc="Elements put back where max pooling found them, zeros elsewhere.",
    spec=_unpooled_volume,
    vjp={"self": lambda grad, indices: take_from_planes(grad, indices, 3)},
    variants="function out",
    module="nn",
    raises_on_data="indices",
    autocast="float32",
)
