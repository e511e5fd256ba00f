"""Enters: tensors of (..., channels, height, width). Leaves: the same pictures in other shapes.

Invariant: made of operators only, so that it can be recorded and differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from thunk.nn import functional
from thunk.ops.registry import t
from thunk.runtime.tensors import tensor_from_array
from thunk.types.dtype import float32, uint8
from thunk.vision.transforms.functional.matrices import expanded_size
from thunk.vision.transforms.interpolation import InterpolationMode

_SMOOTH = (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
_PADDINGS = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}


def as_batch(img: Any) -> tuple[Any, Any]:
    """The picture as a batch of floats, and the function that brings a result back."""
    shape, element = img.shape, img.dtype
    batch = img.reshape(-1, *shape[-3:]) if img.dim() != 4 else img
    if img.dim() == 2:
        batch = img.reshape(1, 1, *shape)
    floating = img.is_floating_point()

    def back(result: Any) -> Any:
        made = result.reshape(*shape[:-2], *result.shape[-2:])
        return made if floating else t.round(made).to(element)

    return batch if floating else batch.to(float32), back


def hflip(img: Any) -> Any:
    """Left and right exchanged."""
    return img.flip(-1)


def vflip(img: Any) -> Any:
    """Top and bottom exchanged."""
    return img.flip(-2)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """A rectangle; zeros where it leaves the picture."""
    rows, columns = img.shape[-2:]
    bottom, right = top + height, left + width
    inside = img[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    if top >= 0 and left >= 0 and bottom <= rows and right <= columns:
        return inside
    margins = [
        max(min(right, 0) - left, 0), max(right - max(columns, left), 0),
        max(min(bottom, 0) - top, 0), max(bottom - max(rows, top), 0),
    ]  # fmt: skip
    return functional.pad(inside, margins, value=0.0)


def _symmetric(img: Any, left: int, top: int, right: int, bottom: int) -> Any:
    for dimension, before, after in ((-2, top, bottom), (-1, left, right)):
        size = img.shape[dimension]
        kept = numpy.arange(max(-before, 0), size + min(after, 0))
        order = numpy.pad(kept, (max(before, 0), max(after, 0)), "symmetric")
        img = t.index_select(img, dimension, tensor_from_array(order))
    return img


def pad(img: Any, borders: Sequence[int], fill: Any, padding_mode: str) -> Any:
    """The picture with borders of (left, top, right, bottom) pixels."""
    left, top, right, bottom = borders
    if padding_mode == "symmetric":
        return _symmetric(img, left, top, right, bottom)
    batch = img.reshape(-1, *img.shape[-3:]) if img.dim() > 4 else img
    flat = padding_mode != "constant" and img.dim() == 2
    batch = batch.unsqueeze(0) if flat else batch
    margins = [left, right, top, bottom]
    fill = fill[0] if isinstance(fill, list | tuple) and len(fill) == 1 else fill
    if padding_mode == "constant":
        made = functional.pad(batch, margins, value=float(fill or 0))
    else:
        made = functional.pad(batch, margins, mode=_PADDINGS[padding_mode])
    made = made.squeeze(0) if flat else made
    return made.reshape(*img.shape[:-2], *made.shape[-2:])


def resize(
    img: Any, size: tuple[int, int], interpolation: InterpolationMode, antialias: bool
) -> Any:
    """The picture in another size."""
    batch, back = as_batch(img)
    smooth = interpolation in _SMOOTH
    if not smooth and interpolation not in (
        InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT,
    ):  # fmt: skip
        raise ValueError(
            f"resize: This Interpolation mode is unsupported with Tensor input, got "
            f"{interpolation}; use NEAREST, BILINEAR or BICUBIC"
        )
    made = functional.interpolate(
        batch,
        size=list(size),
        mode=interpolation.value,
        align_corners=False if smooth else None,
        antialias=antialias and smooth,
    )
    if interpolation is InterpolationMode.BICUBIC and img.dtype is uint8:
        made = made.clamp(0, 255)
    return back(made)


def _grid(matrix: Sequence[float], width: int, height: int, size: tuple[int, int]) -> Any:
    """Where each pixel of a result of `size` (width, height) comes from, in grid coordinates."""
    new_width, new_height = size
    columns = numpy.arange(new_width, dtype=numpy.float32) - numpy.float32(0.5 * new_width - 0.5)
    rows = numpy.arange(new_height, dtype=numpy.float32) - numpy.float32(0.5 * new_height - 0.5)
    places = numpy.ones((new_height, new_width, 3), numpy.float32)
    places[..., 0], places[..., 1] = columns[None, :], rows[:, None]
    scale = numpy.array([0.5 * width, 0.5 * height], numpy.float32)
    theta = numpy.array(matrix, numpy.float32).reshape(2, 3).T / scale
    return tensor_from_array(places.reshape(-1, 3) @ theta).view(1, new_height, new_width, 2)


def _perspective_grid(coefficients: Sequence[float], width: int, height: int) -> Any:
    first = numpy.array(coefficients[:6], numpy.float32).reshape(2, 3).T
    second = numpy.array([[*coefficients[6:], 1.0]] * 2, numpy.float32).T
    places = numpy.ones((height, width, 3), numpy.float32)
    places[..., 0] = numpy.arange(width, dtype=numpy.float32)[None, :] + numpy.float32(0.5)
    places[..., 1] = numpy.arange(height, dtype=numpy.float32)[:, None] + numpy.float32(0.5)
    flat = places.reshape(-1, 3)
    scale = numpy.array([0.5 * width, 0.5 * height], numpy.float32)
    found = (flat @ (first / scale)) / (flat @ second) - numpy.float32(1)
    return tensor_from_array(found).view(1, height, width, 2)


def _sampled(img: Any, grid: Any, mode: InterpolationMode, fill: Sequence[float] | None) -> Any:
    if mode not in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        raise ValueError(
            f"warp: This Interpolation mode is unsupported with Tensor input, got {mode}; use "
            "NEAREST or BILINEAR"
        )
    batch, back = as_batch(img)
    count, channels = batch.shape[:2]
    if fill is not None:
        batch = t.cat([batch, t.ones_like(batch[:, :1])], 1)
    grid = grid.to(batch.dtype).expand(count, *grid.shape[1:])
    made = functional.grid_sample(
        batch, grid, mode=mode.value, padding_mode="zeros", align_corners=False
    )
    if fill is not None:
        made, mask = made[:, :channels], made[:, channels:].expand(count, channels, -1, -1)
        colours = made.new_tensor(list(fill)).view(1, -1, 1, 1).expand_as(made)
        if mode is InterpolationMode.NEAREST:
            made = t.where(mask < 0.5, colours, made)
        else:
            made = made * mask + (1.0 - mask) * colours
    return back(made)


def affine(
    img: Any, matrix: Sequence[float], mode: InterpolationMode, fill: Any, expand: bool = False
) -> Any:
    """The picture moved by an inverse map around its centre."""
    height, width = img.shape[-2:]
    size = expanded_size(matrix, width, height) if expand else (width, height)
    return _sampled(img, _grid(matrix, width, height, size), mode, fill)


def perspective(img: Any, coefficients: Sequence[float], mode: InterpolationMode, fill: Any) -> Any:
    """The picture seen from elsewhere."""
    height, width = img.shape[-2:]
    return _sampled(img, _perspective_grid(coefficients, width, height), mode, fill)
