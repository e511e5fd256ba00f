"""Enters: strengths. Leaves: transforms that choose among many changes by chance.

Invariant: the random draws are torchvision's, in its order, from the default stream; strengths are
those of the papers on RandAugment and TrivialAugment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from thunk.nn.modules.module import Module
from thunk.vision.transforms import chance, functional
from thunk.vision.transforms.interpolation import InterpolationMode, checked_mode

# By name: the strengths to choose from (none: there is only one) and whether they have a sign.
Space = dict[str, tuple[list[float], bool]]
NEAREST = InterpolationMode.NEAREST


def _steps(first: float, last: float, count: int) -> list[float]:
    return [float(step) for step in numpy.linspace(first, last, count).astype(numpy.float32)]


def _bits(count: int, fewer: int) -> list[float]:
    """From all 8 bits down to `8 - fewer`."""
    taken = numpy.round(numpy.arange(count) / ((count - 1) / fewer))
    return [8.0 - float(number) for number in taken]


def _space(count: int, shear: float, reach: tuple[float, float], turn: float, mix: float,
           fewer_bits: int) -> Space:  # fmt: skip
    space: Space = {"Identity": ([], False)}
    space |= {name: (_steps(0.0, shear, count), True) for name in ("ShearX", "ShearY")}
    for name, distance in zip(("TranslateX", "TranslateY"), reach):
        space[name] = (_steps(0.0, distance, count), True)
    space["Rotate"] = (_steps(0.0, turn, count), True)
    for name in ("Brightness", "Color", "Contrast", "Sharpness"):
        space[name] = (_steps(0.0, mix, count), True)
    space["Posterize"] = (_bits(count, fewer_bits), False)
    space["Solarize"] = (_steps(255.0, 0.0, count), False)
    return space | {"AutoContrast": ([], False), "Equalize": ([], False)}


class _Automatic(Module):
    """What both share: the changes themselves."""

    def __init__(self, interpolation: Any, fill: Any) -> None:
        super().__init__()
        self.interpolation = checked_mode(interpolation)
        self.fill = fill

    def _moved(
        self, img: Any, translate: tuple[int, int] = (0, 0), shear: tuple[float, float] = (0, 0),
        center: tuple[int, int] | None = None,
    ) -> Any:  # fmt: skip
        return functional.affine(
            img, 0.0, list(translate), 1.0, list(shear), self.interpolation, self.fill, center
        )

    def changed(self, img: Any, name: str, strength: float) -> Any:
        """The picture after the change called `name`."""
        slant = math.degrees(math.atan(strength))
        changes: dict[str, Callable[[], Any]] = {
            "Identity": lambda: img,
            "ShearX": lambda: self._moved(img, shear=(slant, 0.0), center=(0, 0)),
            "ShearY": lambda: self._moved(img, shear=(0.0, slant), center=(0, 0)),
            "TranslateX": lambda: self._moved(img, translate=(int(strength), 0)),
            "TranslateY": lambda: self._moved(img, translate=(0, int(strength))),
            "Rotate": lambda: functional.rotate(img, strength, self.interpolation, fill=self.fill),
            "Brightness": lambda: functional.adjust_brightness(img, 1.0 + strength),
            "Color": lambda: functional.adjust_saturation(img, 1.0 + strength),
            "Contrast": lambda: functional.adjust_contrast(img, 1.0 + strength),
            "Sharpness": lambda: functional.adjust_sharpness(img, 1.0 + strength),
            "Posterize": lambda: functional.posterize(img, int(strength)),
            "Solarize": lambda: functional.solarize(img, strength),
            "AutoContrast": lambda: functional.autocontrast(img),
            "Equalize": lambda: functional.equalize(img),
        }
        return changes[name]()

    @staticmethod
    def _signed(strength: float, has_sign: bool) -> float:
        return -strength if has_sign and chance.integer(0, 2) else strength


class RandAugment(_Automatic):
    """`num_ops` random changes of one strength."""

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Any = NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def forward(self, img: Any) -> Any:
        _, height, width = functional.get_dimensions(img)
        reach = (150.0 / 331.0 * width, 150.0 / 331.0 * height)
        space = _space(self.num_magnitude_bins, 0.3, reach, 30.0, 0.9, 4)
        names = list(space)
        for _ in range(self.num_ops):
            name = names[chance.integer(0, len(names))]
            strengths, has_sign = space[name]
            strength = strengths[self.magnitude] if strengths else 0.0
            img = self.changed(img, name, self._signed(strength, has_sign))
        return img

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(num_ops={self.num_ops}, magnitude={self.magnitude}, "
            f"num_magnitude_bins={self.num_magnitude_bins}, interpolation={self.interpolation}, "
            f"fill={self.fill})"
        )


class TrivialAugmentWide(_Automatic):
    """One random change of a random strength."""

    def __init__(
        self, num_magnitude_bins: int = 31, interpolation: Any = NEAREST, fill: Any = None
    ) -> None:
        super().__init__(interpolation, fill)
        self.num_magnitude_bins = num_magnitude_bins

    def forward(self, img: Any) -> Any:
        space = _space(self.num_magnitude_bins, 0.99, (32.0, 32.0), 135.0, 0.99, 6)
        names = list(space)
        name = names[chance.integer(0, len(names))]
        strengths, has_sign = space[name]
        strength = strengths[chance.integer(0, len(strengths))] if strengths else 0.0
        return self.changed(img, name, self._signed(strength, has_sign))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(num_magnitude_bins={self.num_magnitude_bins}, "
            f"interpolation={self.interpolation}, fill={self.fill})"
        )
