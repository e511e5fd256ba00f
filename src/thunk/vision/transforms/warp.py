"""Enters: ranges of angles, shifts, scales and shears. Leaves: transforms that turn and distort.

Invariant: the random draws are torchvision's, in its order, from the default stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.nn.modules.module import Module
from thunk.types.tensor_base import TensorBase
from thunk.vision.transforms import chance, functional
from thunk.vision.transforms.interpolation import InterpolationMode, checked_mode

NEAREST = InterpolationMode.NEAREST


def symmetric_range(value: Any, name: str, lengths: tuple[int, ...] = (2,)) -> list[float]:
    """(-value, value) for a number, a sequence of an allowed length as it is."""
    if isinstance(value, int | float):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive, got {value}")
        return [-float(value), float(value)]
    if not isinstance(value, Sequence):
        raise TypeError(f"{name} should be a number or a sequence, got {value!r}")
    if len(value) not in lengths:
        raise ValueError(f"{name} should be a sequence of length {lengths}, got {value}")
    return [float(number) for number in value]


def _fill_for(img: Any, fill: Any) -> Any:
    """Tensors take one float a channel, Pillow images what they are given."""
    if not isinstance(img, TensorBase):
        return fill
    channels = functional.get_image_num_channels(img)
    if isinstance(fill, int | float):
        return [float(fill)] * channels
    return [float(number) for number in fill]


class RandomRotation(Module):
    """A picture turned by a random angle."""

    def __init__(
        self,
        degrees: Any,
        interpolation: Any = NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.degrees = symmetric_range(degrees, "degrees")
        self.center = center
        self.interpolation = checked_mode(interpolation)
        self.expand = expand
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """The angle."""
        return chance.uniform(degrees[0], degrees[1])

    def forward(self, img: Any) -> Any:
        angle = self.get_params(self.degrees)
        fill = _fill_for(img, self.fill)
        return functional.rotate(img, angle, self.interpolation, self.expand, self.center, fill)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(degrees={self.degrees}, "
            f"interpolation={self.interpolation.value}, expand={self.expand}, fill={self.fill})"
        )


class RandomAffine(Module):
    """A picture sheared, turned, scaled and shifted at random."""

    def __init__(
        self,
        degrees: Any,
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: Any = None,
        interpolation: Any = NEAREST,
        fill: Any = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.degrees = symmetric_range(degrees, "degrees")
        if translate is not None and not all(0.0 <= part <= 1.0 for part in translate):
            raise ValueError(
                f"RandomAffine: translation values should be between 0 and 1, got {translate}"
            )
        if scale is not None and min(scale) <= 0:
            raise ValueError(f"RandomAffine: scale values should be positive, got {scale}")
        self.translate = translate
        self.scale = scale
        self.shear = None if shear is None else symmetric_range(shear, "shear", (2, 4))
        self.interpolation = checked_mode(interpolation)
        self.fill = 0 if fill is None else fill
        self.center = center

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Angle, shift, scale and shear; `img_size` is (width, height)."""
        angle = chance.uniform(degrees[0], degrees[1])
        shift = (0, 0)
        if translate is not None:
            reach = [float(part * size) for part, size in zip(translate, img_size)]
            across = round(chance.uniform(-reach[0], reach[0]))
            shift = (across, round(chance.uniform(-reach[1], reach[1])))
        scale = 1.0
        if scale_ranges is not None:
            scale = chance.uniform(scale_ranges[0], scale_ranges[1])
        shear_x = shear_y = 0.0
        if shears is not None:
            shear_x = chance.uniform(shears[0], shears[1])
            if len(shears) == 4:
                shear_y = chance.uniform(shears[2], shears[3])
        return angle, shift, scale, (shear_x, shear_y)

    def forward(self, img: Any) -> Any:
        size = functional.get_image_size(img)
        found = self.get_params(self.degrees, self.translate, self.scale, self.shear, size)
        return functional.affine(
            img,
            *found,
            interpolation=self.interpolation,
            fill=_fill_for(img, self.fill),
            center=self.center,
        )

    def __repr__(self) -> str:
        parts = [f"degrees={self.degrees}"]
        for name in ("translate", "scale", "shear", "center"):
            if getattr(self, name) is not None:
                parts.append(f"{name}={getattr(self, name)}")
        return f"{type(self).__name__}({', '.join(parts)})"


class RandomPerspective(Module):
    """A picture seen from a random side with probability `p`."""

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.p = p
        self.interpolation = checked_mode(interpolation)
        self.distortion_scale = distortion_scale
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(
        width: int, height: int, distortion_scale: float
    ) -> tuple[list[list[int]], list[list[int]]]:
        """The corners, and where they go."""
        reach_x = int(distortion_scale * (width // 2))
        reach_y = int(distortion_scale * (height // 2))
        near_x, near_y = (0, reach_x + 1), (0, reach_y + 1)
        far_x, far_y = (width - reach_x - 1, width), (height - reach_y - 1, height)
        corners = ((near_x, near_y), (far_x, near_y), (far_x, far_y), (near_x, far_y))
        ends = [[chance.integer(*across), chance.integer(*down)] for across, down in corners]
        starts = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        return starts, ends

    def forward(self, img: Any) -> Any:
        if not chance.coin(self.p):
            return img
        width, height = functional.get_image_size(img)
        starts, ends = self.get_params(width, height, self.distortion_scale)
        return functional.perspective(
            img, starts, ends, self.interpolation, _fill_for(img, self.fill)
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"
