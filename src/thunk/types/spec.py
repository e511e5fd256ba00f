"""Enters: shape, dtype, strides, device. Leaves: `TensorSpec`, all that is known before values.

Invariant: a spec with an offset describes a window into a storage; strides count elements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from thunk.types.device import CPU, device
from thunk.types.dtype import dtype
from thunk.types.memory_order import memory_order


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides, with PyTorch's rule that empty dimensions count as one."""
    strides = [1] * len(shape)
    for position in range(len(shape) - 2, -1, -1):
        strides[position] = strides[position + 1] * max(shape[position + 1], 1)
    return tuple(strides)


ElementType = dtype  # inside the class, `dtype` is the field


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """What a tensor is, apart from its values."""

    shape: tuple[int, ...]
    dtype: dtype
    strides: tuple[int, ...]
    offset: int = 0
    device: device = CPU

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    def is_contiguous(self) -> bool:
        """Whether elements lie row-major without gaps; dimensions of size one do not matter."""
        wanted = 1
        if 0 in self.shape:
            return True
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1:
                if stride != wanted:
                    return False
                wanted *= size
        return True

    def is_non_overlapping_and_dense(self) -> bool:
        """Whether some order of the dimensions makes the elements lie without gaps."""
        wanted = 1
        pairs = sorted(
            (stride, size) for size, stride in zip(self.shape, self.strides, strict=True)
            if size != 1
        )  # fmt: skip
        for stride, size in pairs:
            if size == 0:
                return True
            if stride != wanted:
                return False
            wanted *= size
        return True

    def extent(self) -> int:
        """One past the last storage element that the window reaches."""
        if 0 in self.shape:
            return self.offset
        steps = zip(self.shape, self.strides, strict=True)
        reach = sum((size - 1) * stride for size, stride in steps)
        return self.offset + reach + 1

    def with_shape(self, shape: tuple[int, ...]) -> TensorSpec:
        """A fresh row-major spec of the same dtype and device."""
        return TensorSpec(shape, self.dtype, contiguous_strides(shape), 0, self.device)

    def with_dtype(self, new_dtype: ElementType) -> TensorSpec:
        """The same window geometry over elements of another dtype."""
        return replace(self, dtype=new_dtype)

    def window(
        self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int | None = None
    ) -> TensorSpec:
        """A view of the same storage."""
        start = self.offset if offset is None else offset
        return TensorSpec(shape, self.dtype, strides, start, self.device)

    def fresh(self) -> TensorSpec:
        """The spec of a new tensor laid out like this one (`preserve_format`)."""
        if self.is_non_overlapping_and_dense():
            return replace(self, offset=0)
        return TensorSpec(
            self.shape, self.dtype, restride(self.shape, self.strides), 0, self.device
        )


def restride(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """Dense strides that keep the memory order of `strides` as far as it is an order."""
    result = [0] * len(shape)
    running = 1
    for position in memory_order(shape, [strides]):
        result[position] = running
        running *= max(shape[position], 1)
    return tuple(result)


def make_spec(shape: tuple[int, ...], element: dtype, where: device = CPU) -> TensorSpec:
    """A fresh row-major spec."""
    shape = tuple(shape)
    return TensorSpec(shape, element, contiguous_strides(shape), 0, where)
