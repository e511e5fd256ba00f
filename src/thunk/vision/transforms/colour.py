"""Enters: ranges of factors and probabilities. Leaves: transforms that change colours, by chance.

Invariant: the random draws are torchvision's, in its order, from the default stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.nn.modules.module import Module
from thunk.vision.transforms import chance, functional
from thunk.vision.transforms.functional.sizes import pair

Range = tuple[float, float] | None


def _factor_range(
    value: Any, name: str, center: float, low: float, high: float, clip: bool
) -> Range:
    """The range around the factor that changes nothing; None if it is nothing else."""
    if isinstance(value, int | float):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative, got {value}")
        first, last = center - float(value), center + float(value)
        first = max(first, 0.0) if clip else first
    elif isinstance(value, Sequence) and len(value) == 2:
        first, last = float(value[0]), float(value[1])
    else:
        raise TypeError(f"{name} should be a single number or a sequence of length 2, got {value}")
    if not low <= first <= last <= high:
        raise ValueError(f"{name} values should be between {low} and {high}, but got {value}.")
    return None if first == last == center else (first, last)


class ColorJitter(Module):
    """Brightness, contrast, saturation and hue changed at random, in random order."""

    def __init__(
        self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0
    ) -> None:
        super().__init__()
        unlimited = float("inf")
        self.brightness = _factor_range(brightness, "brightness", 1.0, 0.0, unlimited, True)
        self.contrast = _factor_range(contrast, "contrast", 1.0, 0.0, unlimited, True)
        self.saturation = _factor_range(saturation, "saturation", 1.0, 0.0, unlimited, True)
        self.hue = _factor_range(hue, "hue", 0.0, -0.5, 0.5, False)

    @staticmethod
    def get_params(
        brightness: Range, contrast: Range, saturation: Range, hue: Range
    ) -> tuple[list[int], float | None, float | None, float | None, float | None]:
        """The order of the four changes and their factors."""
        order = chance.permutation(4)
        drawn = [
            None if bounds is None else chance.uniform(*bounds)
            for bounds in (brightness, contrast, saturation, hue)
        ]
        return order, drawn[0], drawn[1], drawn[2], drawn[3]

    def forward(self, img: Any) -> Any:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        changes = (
            functional.adjust_brightness, functional.adjust_contrast,
            functional.adjust_saturation, functional.adjust_hue,
        )  # fmt: skip
        for place in order:
            factor = factors[place]
            if factor is not None:
                img = changes[place](img, factor)
        return img

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(brightness={self.brightness}, contrast={self.contrast}, "
            f"saturation={self.saturation}, hue={self.hue})"
        )


class Grayscale(Module):
    """A picture without colours."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        return functional.rgb_to_grayscale(img, self.num_output_channels)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_output_channels={self.num_output_channels})"


class _WithProbability(Module):
    """A change that happens with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def changed(self, img: Any) -> Any:
        """The picture after the change."""
        raise NotImplementedError(f"{type(self).__name__}: expected changed(img), got none")

    def forward(self, img: Any) -> Any:
        return self.changed(img) if chance.coin(self.p) else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomGrayscale(_WithProbability):
    """A picture without colours, but with all its channels."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def changed(self, img: Any) -> Any:
        """The picture after the change."""
        channels = functional.get_image_num_channels(img)
        return functional.rgb_to_grayscale(img, num_output_channels=channels)


class RandomInvert(_WithProbability):
    """The negative."""

    def changed(self, img: Any) -> Any:
        """The picture after the change."""
        return functional.invert(img)


class RandomPosterize(_WithProbability):
    """Only the first `bits` bits of each value."""

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def changed(self, img: Any) -> Any:
        """The picture after the change."""
        return functional.posterize(img, self.bits)


class RandomSolarize(_WithProbability):
    """What is at least as bright as a threshold, inverted."""

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def changed(self, img: Any) -> Any:
        """The picture after the change."""
        return functional.solarize(img, self.threshold)


class RandomAdjustSharpness(_WithProbability):
    """Sharpness changed by a factor."""

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def changed(self, img: Any) -> Any:
        """The picture after the change."""
        return functional.adjust_sharpness(img, self.sharpness_factor)


class RandomAutocontrast(_WithProbability):
    """Each channel stretched from black to white."""

    def changed(self, img: Any) -> Any:
        """The picture after the change."""
        return functional.autocontrast(img)


class RandomEqualize(_WithProbability):
    """Each channel with its brightness spread evenly."""

    def changed(self, img: Any) -> Any:
        """The picture after the change."""
        return functional.equalize(img)


class GaussianBlur(Module):
    """Blurred by a Gaussian of random width."""

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = pair(kernel_size, "kernel_size")
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError(
                f"GaussianBlur: Kernel size value should be an odd and positive number, got "
                f"{kernel_size}"
            )
        bounds = (sigma, sigma) if isinstance(sigma, int | float) else tuple(sigma)
        if not 0.0 < bounds[0] <= bounds[1]:
            raise ValueError(
                f"GaussianBlur: sigma values should be positive and of the form (min, max), got "
                f"{sigma}"
            )
        self.sigma = (float(bounds[0]), float(bounds[1]))

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """The width."""
        return chance.uniform(sigma_min, sigma_max)

    def forward(self, img: Any) -> Any:
        width = self.get_params(*self.sigma)
        # torchvision's sizes are (height, width) here and (width, height) in the function.
        return functional.gaussian_blur(img, list(self.kernel_size), [width, width])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(kernel_size={self.kernel_size}, sigma={self.sigma})"
