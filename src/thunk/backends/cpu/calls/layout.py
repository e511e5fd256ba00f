"""Enters: shapes, element types, strides, blocks. Leaves: `Layout`, how a tensor lies in memory.

Invariant: two layouts are equal exactly when the same bytes mean the same tensor. A layout without
strides is a wish: the library chooses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from thunk.types.dtype import dtype


@dataclass(frozen=True, slots=True)
class Layout:
    """Strides of the outer indices, in elements, and blocks inside them, the innermost last.

    A block `(axis, size)` splits off the low part of an index. `padded` is the shape that the
    memory holds: the elements beyond `shape` must be zero whenever a library call reads them.
    """

    shape: tuple[int, ...]
    dtype: dtype
    strides: tuple[int, ...] | None
    blocks: tuple[tuple[int, int], ...] = ()
    padded: tuple[int, ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether the library is to choose."""
        return self.strides is None

    @property
    def is_plain(self) -> bool:
        """Whether strides alone say where every element is."""
        return self.strides is not None and not self.blocks and not self.has_padding

    @property
    def has_padding(self) -> bool:
        return bool(self.padded) and self.padded != self.shape

    @property
    def nbytes(self) -> int:
        """From the first byte to the end of the last element."""
        if self.strides is None:
            raise ValueError(f"layout: expected one that was chosen, got the wish {self}")
        if 0 in self.shape:
            return 0
        outer = list(self.padded or self.shape)
        for axis, size in self.blocks:
            outer[axis] //= size
        inner = math.prod(size for _, size in self.blocks)
        reach = sum((extent - 1) * stride for extent, stride in zip(outer, self.strides))
        return (reach + inner) * self.dtype.itemsize

    @property
    def key(self) -> str:
        """Text that is the same in every process."""
        extents = "x".join(map(str, self.shape))
        if self.strides is None:
            return f"{self.dtype.name}[{extents}]:any"
        strides = ",".join(map(str, self.strides))
        blocks = "".join(f"|{axis}/{size}" for axis, size in self.blocks)
        padded = f"|in {'x'.join(map(str, self.padded))}" if self.has_padding else ""
        return f"{self.dtype.name}[{extents}]:{strides}{blocks}{padded}"

    def __str__(self) -> str:
        return self.key

    def freed(self) -> Layout:
        """The wish for this shape and element type."""
        return replace(self, strides=None, blocks=(), padded=())

    def transposed(self) -> Layout:
        """The last two axes exchanged."""
        if self.strides is None:
            return replace(self, shape=(*self.shape[:-2], self.shape[-1], self.shape[-2]))
        shape, strides = self.shape, self.strides
        return plain(
            (*shape[:-2], shape[-1], shape[-2]),
            self.dtype,
            (*strides[:-2], strides[-1], strides[-2]),
        )


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return tuple(strides)


def plain(shape: tuple[int, ...], dtype: dtype, strides: tuple[int, ...] | None = None) -> Layout:
    """The layout with these strides; row-major without."""
    return Layout(shape, dtype, dense_strides(shape) if strides is None else strides)


def free(shape: tuple[int, ...], dtype: dtype) -> Layout:
    """The wish that the library choose."""
    return Layout(shape, dtype, None)


def split_groups(weight: Layout, groups: int) -> Layout:
    """A filter (O, C / groups, *kernel) as (groups, O / groups, C / groups, *kernel)."""
    if groups == 1 or weight.blocks:
        return weight
    shape = (groups, weight.shape[0] // groups, *weight.shape[1:])
    if weight.strides is None:
        return free(shape, weight.dtype)
    return plain(shape, weight.dtype, (shape[1] * weight.strides[0], *weight.strides))
