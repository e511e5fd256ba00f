"""Enters: dimensions. Leaves: a tuple that prints and behaves as PyTorch's `torch.Size`."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import SupportsIndex


class Size(tuple[int, ...]):
    """Shape of a tensor."""

    __slots__ = ()

    def __new__(cls, dimensions: Iterable[SupportsIndex] = ()) -> Size:
        return super().__new__(cls, [operator.index(each) for each in dimensions])

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]  # as in PyTorch
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: tuple[int, ...]) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __getitem__(self, index: object) -> object:  # type: ignore[override]  # slices give a Size
        found = tuple.__getitem__(self, index)  # type: ignore[call-overload]  # tuple checks it
        return Size(found) if isinstance(index, slice) else found

    def __reduce__(self) -> tuple[object, tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)
