"""Enters: parameters. Leaves: transforms that move pixels without chance, and simple random ones.

Invariant: the random draws are torchvision's, in its order, from the default stream.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from thunk.nn.modules.module import Module
from thunk.vision.transforms import chance, functional
from thunk.vision.transforms.functional.sizes import pair
from thunk.vision.transforms.interpolation import InterpolationMode, checked_mode

BILINEAR = InterpolationMode.BILINEAR
_ATTEMPTS = 10


class Resize(Module):
    """A picture in another size; one number is the length of the shorter side."""

    def __init__(
        self,
        size: Any,
        interpolation: Any = BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, int | Sequence):
            raise TypeError(f"Resize: Size should be int or sequence. Got {type(size)}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError(f"Resize: size should have 1 or 2 values, got {size}")
        self.size = size
        self.max_size = max_size
        self.interpolation = checked_mode(interpolation)
        self.antialias = antialias

    def forward(self, img: Any) -> Any:
        return functional.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(size={self.size}, interpolation={self.interpolation.value}, "
            f"max_size={self.max_size}, antialias={self.antialias})"
        )


class CenterCrop(Module):
    """The middle of a picture."""

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = pair(size)

    def forward(self, img: Any) -> Any:
        return functional.center_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class Pad(Module):
    """A picture with a border."""

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Any) -> Any:
        return functional.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(padding={self.padding}, fill={self.fill}, "
            f"padding_mode={self.padding_mode})"
        )


class RandomCrop(Module):
    """A rectangle at a random place."""

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height and width of the crop."""
        _, rows, columns = functional.get_dimensions(img)
        height, width = output_size
        if rows < height or columns < width:
            raise ValueError(
                f"RandomCrop: Required crop size {(height, width)} is larger than input image "
                f"size {(rows, columns)}; pass pad_if_needed=True"
            )
        if (rows, columns) == (height, width):
            return 0, 0, rows, columns
        top = chance.integer(0, rows - height + 1)
        return top, chance.integer(0, columns - width + 1), height, width

    def forward(self, img: Any) -> Any:
        if self.padding is not None:
            img = functional.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            _, rows, columns = functional.get_dimensions(img)
            if columns < self.size[1]:
                margin = [self.size[1] - columns, 0]
                img = functional.pad(img, margin, self.fill, self.padding_mode)
            if rows < self.size[0]:
                margin = [0, self.size[0] - rows]
                img = functional.pad(img, margin, self.fill, self.padding_mode)
        return functional.crop(img, *self.get_params(img, self.size))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class _Flip(Module):
    """A mirror image with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomHorizontalFlip(_Flip):
    """Left and right exchanged with probability `p`."""

    def forward(self, img: Any) -> Any:
        return functional.hflip(img) if chance.coin(self.p) else img


class RandomVerticalFlip(_Flip):
    """Top and bottom exchanged with probability `p`."""

    def forward(self, img: Any) -> Any:
        return functional.vflip(img) if chance.coin(self.p) else img


class RandomResizedCrop(Module):
    """A rectangle of random area and shape, in a given size."""

    def __init__(
        self,
        size: Any,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = pair(size)
        for name, bounds in (("Scale", scale), ("Ratio", ratio)):
            if not isinstance(bounds, Sequence):
                raise TypeError(f"RandomResizedCrop: {name} should be a sequence, got {bounds}")
            if bounds[0] > bounds[1]:
                warnings.warn(
                    f"RandomResizedCrop: {name} should be of kind (min, max), got {bounds}",
                    stacklevel=2,
                )
        self.scale = scale
        self.ratio = ratio
        self.interpolation = checked_mode(interpolation)
        self.antialias = antialias

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """Top, left, height and width of the crop."""
        _, rows, columns = functional.get_dimensions(img)
        area = rows * columns
        for _ in range(_ATTEMPTS):
            target = area * chance.uniform(scale[0], scale[1])
            shape = chance.log_uniform(ratio[0], ratio[1])
            width, height = round(math.sqrt(target * shape)), round(math.sqrt(target / shape))
            if 0 < width <= columns and 0 < height <= rows:
                top = chance.integer(0, rows - height + 1)
                return top, chance.integer(0, columns - width + 1), height, width
        height, width = rows, columns
        if columns / rows < min(ratio):
            height = round(columns / min(ratio))
        elif columns / rows > max(ratio):
            width = round(rows * max(ratio))
        return (rows - height) // 2, (columns - width) // 2, height, width

    def forward(self, img: Any) -> Any:
        box = self.get_params(img, self.scale, self.ratio)
        return functional.resized_crop(
            img, *box, self.size, self.interpolation, antialias=self.antialias
        )

    def __repr__(self) -> str:
        scale, ratio = (tuple(round(x, 4) for x in bounds) for bounds in (self.scale, self.ratio))
        return (
            f"{type(self).__name__}(size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias})"
        )


class FiveCrop(Module):
    """The four corners and the middle."""

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = pair(size)

    def forward(self, img: Any) -> Any:
        return functional.five_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class TenCrop(FiveCrop):
    """The four corners and the middle, of the picture and of its mirror image."""

    def __init__(self, size: Any, vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def forward(self, img: Any) -> Any:
        return functional.ten_crop(img, self.size, self.vertical_flip)
