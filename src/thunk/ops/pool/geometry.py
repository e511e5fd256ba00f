"""Enters: a spec and the windows of a pooling. Leaves: the sizes of its result, or PyTorch's error.

Invariant: every window of a pooling that passes here holds an element or padding at its start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec

Ints = Sequence[int]


@dataclass(frozen=True, slots=True)
class Pooling:
    """How the windows of a pooling lie: one number a spatial dimension each."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    ceil_mode: bool

    def sizes(self, size: Ints) -> tuple[int, ...]:
        """How many windows there are along each dimension."""
        return tuple([self._count(d, n) for d, n in enumerate(size)])

    def _count(self, d: int, n: int) -> int:
        reach = self.dilation[d] * (self.kernel[d] - 1) + 1
        step, pad = self.stride[d], self.padding[d]
        room = n + 2 * pad - reach
        if not self.ceil_mode:
            return room // step + 1
        count = -(-room // step) + 1
        # The last window must start inside the picture or the padding before it.
        return count - 1 if (count - 1) * step >= n + pad else count


def pooling(
    dims: int, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> Pooling:
    """The window arguments with one number a dimension; no stride means the kernel's size."""
    kernel = _numbers(kernel_size, dims, "kernel_size")
    found = Pooling(
        kernel,
        _numbers(stride, dims, "stride") if stride else kernel,
        _numbers(padding, dims, "padding"),
        _numbers(dilation, dims, "dilation"),
        ceil_mode,
    )
    for name in ("kernel", "stride", "dilation"):
        if min(getattr(found, name)) <= 0:
            raise Mismatch(f"{name} should be greater than zero, but got {getattr(found, name)}")
    for pad, size in zip(found.padding, kernel):
        if pad < 0:
            raise Mismatch(f"pad must be non-negative, but got pad: {pad}")
        if pad > size // 2:
            raise Mismatch(
                "pad should be smaller than or equal to half of kernel size, but got "
                f"pad = {pad}, kernel = {size}"
            )
    return found


def _numbers(values: Ints, dims: int, name: str) -> tuple[int, ...]:
    if len(values) == dims:
        return tuple(values)
    if len(values) == 1:
        return tuple(values) * dims
    raise Mismatch(
        f"{name} must either be a single int, or a tuple of {dims} ints, got {list(values)}"
    )


def check_picture(self: TensorSpec, dims: int, *, empty_channels: bool = False) -> None:
    """A picture of `dims` dimensions, batched or not; only the batch may be empty."""
    if self.ndim not in (dims + 1, dims + 2):
        raise Mismatch(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor for input, "
            f"but got: {list(self.shape)}"
        )
    if 0 in self.shape[-dims if empty_channels else -dims - 1 :]:
        raise Mismatch(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch "
            f"size for input, but got: {list(self.shape)}"
        )


def pooled_shape(self: TensorSpec, dims: int, places: Pooling) -> tuple[int, ...]:
    """The shape of a pooling's result."""
    check_picture(self, dims)
    sizes = places.sizes(self.shape[-dims:])
    if min(sizes) < 1:
        raise Mismatch(
            f"Given input size: {self.shape[-dims - 1 :]}. Calculated output size: "
            f"{(self.shape[-dims - 1], *sizes)}. Output size is too small"
        )
    return (*self.shape[:-dims], *sizes)


def check_gradient(name: str, spec: TensorSpec, shape: Ints) -> None:
    """What goes back must have the shape of what came out."""
    if tuple(spec.shape) != tuple(shape):
        raise expected(f"{name} of shape {list(shape)}", list(spec.shape))


def take_from_planes(pictures: Any, indices: Any, dims: int) -> Any:
    """The elements of each plane at flat `indices` into it; differentiable."""
    lead = tuple(pictures.shape[:-dims])
    flat = pictures.reshape((*lead, math.prod(pictures.shape[-dims:])))
    places = indices.reshape((*lead, math.prod(indices.shape[-dims:])))
    return t.gather(flat, -1, places).reshape(tuple(indices.shape))
