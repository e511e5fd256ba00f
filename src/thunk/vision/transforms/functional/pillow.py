"""Enters: Pillow images. Leaves: the same pictures, changed by Pillow's own routines.

Invariant: this is what torchvision does to Pillow images, call by call, so results are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from thunk.vision import images
from thunk.vision.transforms.functional import arrays
from thunk.vision.transforms.functional.convert import to_pil_image
from thunk.vision.transforms.functional.sizes import get_image_num_channels
from thunk.vision.transforms.interpolation import InterpolationMode, pillow_number

_AFFINE, _PERSPECTIVE = 0, 2  # Pillow's constants for Image.transform
_FLIP_LEFT_RIGHT, _FLIP_TOP_BOTTOM = 0, 1


def hflip(img: Any) -> Any:
    """Left and right exchanged."""
    return img.transpose(_FLIP_LEFT_RIGHT)


def vflip(img: Any) -> Any:
    """Top and bottom exchanged."""
    return img.transpose(_FLIP_TOP_BOTTOM)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """A rectangle; black where it leaves the picture."""
    return img.crop((left, top, left + width, top + height))


def _fill(img: Any, fill: Any) -> Any:
    channels = get_image_num_channels(img)
    if fill is None:
        fill = 0
    if isinstance(fill, int | float):
        fill = int(fill) if img.mode not in ("F", "I") else fill
        return (fill,) * channels if channels > 1 else fill
    if isinstance(fill, list | tuple):
        if len(fill) == 1 and channels > 1:
            return tuple(fill) * channels
        if len(fill) != channels:
            raise ValueError(
                f"fill: The number of elements in 'fill' does not match the number of channels of "
                f"the image ({len(fill)} != {channels})"
            )
        return tuple(int(number) for number in fill) if channels > 1 else int(fill[0])
    return fill


def pad(img: Any, borders: Sequence[int], fill: Any, padding_mode: str) -> Any:
    """The picture with borders of (left, top, right, bottom) pixels."""
    if padding_mode == "constant":
        framed = images.ImageOps.expand(img, border=tuple(borders), fill=_fill(img, fill))
        if img.mode == "P":
            framed.putpalette(img.getpalette())
        return framed
    pixels = arrays.pad(numpy.asarray(img), borders, fill, padding_mode)
    return images.Image.fromarray(pixels)


def resize(
    img: Any, size: tuple[int, int], interpolation: InterpolationMode, antialias: bool
) -> Any:
    """The picture in another size; Pillow always filters."""
    return img.resize((size[1], size[0]), pillow_number(interpolation))


def rotate(
    img: Any, angle: float, mode: InterpolationMode, expand: bool, center: Any, fill: Any
) -> Any:
    """The picture turned counter-clockwise."""
    return img.rotate(angle, pillow_number(mode), expand, center, fillcolor=_fill(img, fill))


def affine(img: Any, matrix: Sequence[float], mode: InterpolationMode, fill: Any) -> Any:
    """The picture moved by an inverse map."""
    return img.transform(img.size, _AFFINE, matrix, pillow_number(mode), fillcolor=_fill(img, fill))


def perspective(img: Any, coefficients: Sequence[float], mode: InterpolationMode, fill: Any) -> Any:
    """The picture seen from elsewhere."""
    return img.transform(
        img.size, _PERSPECTIVE, coefficients, pillow_number(mode), fillcolor=_fill(img, fill)
    )


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """One grey channel, or three equal ones."""
    if num_output_channels not in (1, 3):
        raise ValueError(
            f"to_grayscale: num_output_channels should be either 1 or 3, got {num_output_channels}"
        )
    grey = img.convert("L")
    return grey if num_output_channels == 1 else images.Image.merge("RGB", (grey, grey, grey))


def adjust_brightness(img: Any, factor: float) -> Any:
    """Mixed with black."""
    return images.ImageEnhance.Brightness(img).enhance(factor)


def adjust_contrast(img: Any, factor: float) -> Any:
    """Mixed with the mean grey."""
    return images.ImageEnhance.Contrast(img).enhance(factor)


def adjust_saturation(img: Any, factor: float) -> Any:
    """Mixed with its own grey."""
    return images.ImageEnhance.Color(img).enhance(factor)


def adjust_sharpness(img: Any, factor: float) -> Any:
    """Mixed with a softened copy."""
    return images.ImageEnhance.Sharpness(img).enhance(factor)


def adjust_hue(img: Any, factor: float) -> Any:
    """Colours turned by a part of the circle."""
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    # Hues are bytes: turning wraps around.
    turned = numpy.array(hue, numpy.uint8) + numpy.array(factor * 255).astype(numpy.int32).astype(
        numpy.uint8
    )
    parts = (images.Image.fromarray(turned), saturation, value)
    return images.Image.merge("HSV", parts).convert(img.mode)


def adjust_gamma(img: Any, gamma: float, gain: float) -> Any:
    """`gain * img ** gamma`."""
    table = [int((255 + 1 - 1e-3) * gain * (level / 255.0) ** gamma) for level in range(256)]
    return img.convert("RGB").point(table * 3).convert(img.mode)


def invert(img: Any) -> Any:
    """The negative."""
    return images.ImageOps.invert(img)


def posterize(img: Any, bits: int) -> Any:
    """Only the first bits of each value."""
    return images.ImageOps.posterize(img, bits)


def solarize(img: Any, threshold: float) -> Any:
    """What is brighter than a threshold, inverted."""
    return images.ImageOps.solarize(img, threshold)


def autocontrast(img: Any) -> Any:
    """Each channel stretched from black to white."""
    return images.ImageOps.autocontrast(img)


def equalize(img: Any) -> Any:
    """Each channel with its brightness spread evenly."""
    return images.ImageOps.equalize(img)


def gaussian_blur(img: Any, sizes: list[int], sigmas: list[float]) -> Any:
    """Blurred by a Gaussian, by way of a tensor, as torchvision does it."""
    pixels = images.pixels_of(img)
    blurred = arrays.gaussian_blur(pixels, sizes, sigmas)
    return to_pil_image(blurred, mode=img.mode)
