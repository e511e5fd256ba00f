"""Enters: arrays of height x width (x channels). Leaves: the same through the rules for tensors.

Invariant: an array keeps its number of dimensions; flips and crops, which move pixels only, stay in
NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from thunk.runtime.tensors import array_from
from thunk.vision.transforms.functional import colours, tensors
from thunk.vision.transforms.functional.convert import fresh

_MODES = {"constant": "constant", "edge": "edge", "reflect": "reflect", "symmetric": "symmetric"}


def through_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors as one of arrays."""

    def changed(img: numpy.ndarray, *args: Any, **kwargs: Any) -> numpy.ndarray:
        planes = img[None] if img.ndim == 2 else img.transpose(2, 0, 1)
        made = array_from(function(fresh(planes.copy()), *args, **kwargs))
        if img.ndim == 2 and made.shape[0] == 1:
            return numpy.ascontiguousarray(made[0])
        return numpy.ascontiguousarray(made.transpose(1, 2, 0))

    return changed


def hflip(img: numpy.ndarray) -> numpy.ndarray:
    """Left and right exchanged."""
    return numpy.ascontiguousarray(img[:, ::-1])


def vflip(img: numpy.ndarray) -> numpy.ndarray:
    """Top and bottom exchanged."""
    return numpy.ascontiguousarray(img[::-1])


def crop(img: numpy.ndarray, top: int, left: int, height: int, width: int) -> numpy.ndarray:
    """A rectangle; zeros where it leaves the picture."""
    made = numpy.zeros((height, width, *img.shape[2:]), img.dtype)
    first_row, first_column = max(-top, 0), max(-left, 0)
    part = img[max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    rows, columns = part.shape[:2]
    made[first_row : first_row + rows, first_column : first_column + columns] = part
    return made


def pad(img: numpy.ndarray, borders: Sequence[int], fill: Any, padding_mode: str) -> numpy.ndarray:
    """The picture with borders of (left, top, right, bottom) pixels."""
    left, top, right, bottom = borders
    if padding_mode == "constant":
        height, width = img.shape[0] + top + bottom, img.shape[1] + left + right
        made = numpy.empty((height, width, *img.shape[2:]), img.dtype)
        made[...] = fill or 0
        made[top : top + img.shape[0], left : left + img.shape[1]] = img
        return made
    widths = [(top, bottom), (left, right), (0, 0)][: img.ndim]
    mode: Any = _MODES[padding_mode]
    return numpy.pad(img, widths, mode)


resize = through_tensors(tensors.resize)
affine = through_tensors(tensors.affine)
perspective = through_tensors(tensors.perspective)
rgb_to_grayscale = through_tensors(colours.rgb_to_grayscale)
adjust_brightness = through_tensors(colours.adjust_brightness)
adjust_contrast = through_tensors(colours.adjust_contrast)
adjust_saturation = through_tensors(colours.adjust_saturation)
adjust_hue = through_tensors(colours.adjust_hue)
adjust_gamma = through_tensors(colours.adjust_gamma)
adjust_sharpness = through_tensors(colours.adjust_sharpness)
invert = through_tensors(colours.invert)
posterize = through_tensors(colours.posterize)
solarize = through_tensors(colours.solarize)
autocontrast = through_tensors(colours.autocontrast)
equalize = through_tensors(colours.equalize)
gaussian_blur = through_tensors(colours.gaussian_blur)
