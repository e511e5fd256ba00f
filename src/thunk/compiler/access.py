"""Enters: windows of memory. Leaves: `Buffer` and `Access`, an affine map from loops to elements.

Invariant: strides and offset count elements of `element`, from the beginning of the buffer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thunk.types.dtype import dtype


class Buffer:
    """Dense memory of `size` elements that one or more statements fill."""

    __slots__ = ("element", "name", "size")

    def __init__(self, name: str, element: dtype, size: int) -> None:
        self.name = name
        self.element = element
        self.size = size

    @property
    def nbytes(self) -> int:
        return self.size * self.element.itemsize

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Access:
    """Element `offset + sum(index * stride)` of a buffer."""

    buffer: Buffer
    element: dtype
    strides: tuple[int, ...]
    offset: int = 0

    def __str__(self) -> str:
        steps = ",".join(map(str, self.strides))
        return f"{self.buffer.name}[{steps}{f'+{self.offset}' if self.offset else ''}]"

    def over(self, strides: tuple[int, ...]) -> Access:
        """The same elements in terms of other loops."""
        return replace(self, strides=strides)


def extent(sizes: tuple[int, ...], access: Access) -> tuple[int, int]:
    """The first and the last element reached."""
    low = high = access.offset
    for size, stride in zip(sizes, access.strides, strict=True):
        reach = (size - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high
