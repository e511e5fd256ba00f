"""Enters: ranges of areas and shapes. Leaves: `RandomErasing`, which blanks a random rectangle.

Invariant: the random draws are torchvision's, in its order, from the default stream.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from thunk.lazy.eager import eager
from thunk.nn.modules.module import Module
from thunk.ops.registry import t
from thunk.tensor.creation import tensor
from thunk.types.dtype import float32
from thunk.vision.transforms import chance, functional

_ATTEMPTS = 10


class RandomErasing(Module):
    """A random rectangle of a tensor set to a value, or to noise, with probability `p`."""

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(value, int | float | str | tuple | list):
            raise TypeError(
                "RandomErasing: Argument value should be either a number or str or a sequence, got "
                f"{value!r}"
            )
        if isinstance(value, str) and value != "random":
            raise ValueError(f"RandomErasing: If value is str, it should be 'random', got {value}")
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError(f"RandomErasing: Scale should be between 0 and 1, got {scale}")
        if not 0 <= p <= 1:
            raise ValueError(
                f"RandomErasing: Random erasing probability should be between 0 and 1, got {p}"
            )
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float], value: list[float] | None = None
    ) -> tuple[int, int, int, int, Any]:
        """Top, left, height and width of the rectangle, and what it is set to."""
        channels, rows, columns = (int(size) for size in img.shape[-3:])
        area = rows * columns
        for _ in range(_ATTEMPTS):
            target = area * chance.uniform(scale[0], scale[1])
            shape = chance.log_uniform(ratio[0], ratio[1])
            height, width = round(math.sqrt(target * shape)), round(math.sqrt(target / shape))
            if height >= rows or width >= columns:
                continue
            with eager():
                if value is None:
                    content = t.empty([channels, height, width], dtype=float32).normal_()
                else:
                    content = tensor(value)[:, None, None]
            top = chance.integer(0, rows - height + 1)
            return top, chance.integer(0, columns - width + 1), height, width, content
        return 0, 0, rows, columns, img

    def _numbers(self, channels: int) -> list[float] | None:
        if isinstance(self.value, str):
            return None
        if isinstance(self.value, int | float):
            return [float(self.value)]
        if len(self.value) not in (1, channels):
            raise ValueError(
                "RandomErasing: If value is a sequence, it should have either a single value or "
                f"{channels} (number of input channels), got {self.value}"
            )
        return [float(number) for number in self.value]

    def forward(self, img: Any) -> Any:
        if not chance.coin(self.p):
            return img
        found = self.get_params(img, self.scale, self.ratio, self._numbers(int(img.shape[-3])))
        return functional.erase(img, *found, self.inplace)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(p={self.p}, scale={self.scale}, ratio={self.ratio}, "
            f"value={self.value}, inplace={self.inplace})"
        )
