"""Enters: pictures of any kind. Leaves: the same pictures in other colours, under public names.

Invariant: arguments are checked and completed here, once for all kinds of pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.types.tensor_base import TensorBase
from thunk.vision.transforms.functional import colours
from thunk.vision.transforms.functional.geometry import rules_for


def _rules(img: Any) -> Any:
    return colours if isinstance(img, TensorBase) else rules_for(img)


def _factor(name: str, value: float) -> float:
    if value < 0:
        raise ValueError(f"{name}: factor ({value}) is not non-negative; pass 0 or more")
    return float(value)


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """0 is black, 1 the picture, 2 twice as bright."""
    return _rules(img).adjust_brightness(img, _factor("adjust_brightness", brightness_factor))


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """0 is grey, 1 the picture."""
    return _rules(img).adjust_contrast(img, _factor("adjust_contrast", contrast_factor))


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """0 is black and white, 1 the picture."""
    return _rules(img).adjust_saturation(img, _factor("adjust_saturation", saturation_factor))


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """0 is softened, 1 the picture."""
    return _rules(img).adjust_sharpness(img, _factor("adjust_sharpness", sharpness_factor))


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Colours turned by a part of the circle, from -0.5 to 0.5."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"adjust_hue: hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    return _rules(img).adjust_hue(img, hue_factor)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """`gain * img ** gamma`."""
    return _rules(img).adjust_gamma(img, _factor("adjust_gamma", gamma), gain)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """One grey channel, or three equal ones."""
    return _rules(img).rgb_to_grayscale(img, num_output_channels)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """One grey channel, or three equal ones."""
    return _rules(img).rgb_to_grayscale(img, num_output_channels)


def invert(img: Any) -> Any:
    """The negative."""
    return _rules(img).invert(img)


def posterize(img: Any, bits: int) -> Any:
    """Only the first `bits` bits of each value."""
    if not 0 <= bits <= 8:
        raise ValueError(f"posterize: The number if bits should be between 0 and 8. Got {bits}")
    return _rules(img).posterize(img, bits)


def solarize(img: Any, threshold: float) -> Any:
    """What is at least as bright as a threshold, inverted."""
    return _rules(img).solarize(img, threshold)


def autocontrast(img: Any) -> Any:
    """Each channel stretched from black to white."""
    return _rules(img).autocontrast(img)


def equalize(img: Any) -> Any:
    """Each channel with its brightness spread evenly."""
    return _rules(img).equalize(img)


def _both(value: Any) -> list[Any]:
    if isinstance(value, Sequence):
        return [value[0], value[0]] if len(value) == 1 else list(value)
    return [value, value]


def gaussian_blur(img: Any, kernel_size: Any, sigma: Any = None) -> Any:
    """Blurred by a Gaussian; odd sizes and positive widths as (across, down)."""
    sizes = _both(kernel_size)
    if len(sizes) != 2 or any(size % 2 == 0 or size < 0 for size in sizes):
        raise ValueError(
            f"gaussian_blur: kernel_size should have odd and positive integers. Got {kernel_size}"
        )
    sigmas = [size * 0.15 + 0.35 for size in sizes] if sigma is None else _both(sigma)
    if len(sigmas) != 2 or any(width <= 0.0 for width in sigmas):
        raise ValueError(f"gaussian_blur: sigma should have positive values. Got {sigma}")
    return _rules(img).gaussian_blur(img, sizes, [float(width) for width in sigmas])
