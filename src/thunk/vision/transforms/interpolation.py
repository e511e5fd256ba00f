"""How a picture is resampled: torchvision's names and Pillow's numbers for them."""

from __future__ import annotations

from enum import Enum
from typing import Any


class InterpolationMode(Enum):
    """The value between pixels: of the nearest, or weighted from several."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# Pillow's constants, which are part of its interface.
_NUMBERS = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.NEAREST_EXACT: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
}
_BY_NUMBER = {number: mode for mode, number in reversed(_NUMBERS.items())}


def checked_mode(value: Any) -> InterpolationMode:
    """The mode that `value` means; Pillow's numbers are understood."""
    if isinstance(value, InterpolationMode):
        return value
    if isinstance(value, int) and value in _BY_NUMBER:
        return _BY_NUMBER[value]
    raise TypeError(
        f"interpolation: expected an InterpolationMode or a corresponding Pillow integer constant, "
        f"got {value!r}"
    )


def pillow_number(mode: InterpolationMode) -> int:
    """Pillow's constant for a mode."""
    return _NUMBERS[mode]
