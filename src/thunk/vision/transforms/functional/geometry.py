"""Enters: pictures of any kind. Leaves: the same pictures moved, cut, resized, under public names.

Invariant: arguments are checked and completed here, once for all kinds of pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from thunk.ops.registry import t
from thunk.types.tensor_base import TensorBase
from thunk.vision.images import is_pil
from thunk.vision.transforms.functional import arrays, pillow, tensors
from thunk.vision.transforms.functional.matrices import inverse_affine, perspective_coefficients
from thunk.vision.transforms.functional.sizes import borders, get_dimensions, pair, resized
from thunk.vision.transforms.interpolation import InterpolationMode, checked_mode

NEAREST = InterpolationMode.NEAREST
BILINEAR = InterpolationMode.BILINEAR


def rules_for(img: Any) -> Any:
    """The module that knows this kind of picture."""
    if isinstance(img, TensorBase):
        return tensors
    if is_pil(img):
        return pillow
    if isinstance(img, numpy.ndarray):
        return arrays
    raise TypeError(f"img should be PIL Image, Tensor or ndarray. Got {type(img)}")


def hflip(img: Any) -> Any:
    """Left and right exchanged."""
    return rules_for(img).hflip(img)


def vflip(img: Any) -> Any:
    """Top and bottom exchanged."""
    return rules_for(img).vflip(img)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """A rectangle of the picture."""
    return rules_for(img).crop(img, top, left, height, width)


def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """The picture with a border: one width for all sides, two, or (left, top, right, bottom)."""
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(
            "pad: Padding mode should be either constant, edge, reflect or symmetric, got "
            f"{padding_mode!r}"
        )
    return rules_for(img).pad(img, borders(padding), fill, padding_mode)


def resize(
    img: Any,
    size: Any,
    interpolation: Any = BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """The picture in another size; one number is the length of the shorter side."""
    mode = checked_mode(interpolation)
    _, height, width = get_dimensions(img)
    target = resized(height, width, size, max_size)
    if target == (height, width):
        return img
    return rules_for(img).resize(img, target, mode, bool(antialias))


def center_crop(img: Any, output_size: Any) -> Any:
    """The middle of the picture, with black around it if it is smaller."""
    height, width = pair(output_size)
    _, rows, columns = get_dimensions(img)
    if width > columns or height > rows:
        spare_x, spare_y = max(width - columns, 0), max(height - rows, 0)
        img = pad(img, [spare_x // 2, spare_y // 2, (spare_x + 1) // 2, (spare_y + 1) // 2], fill=0)
        _, rows, columns = get_dimensions(img)
        if (height, width) == (rows, columns):
            return img
    return crop(img, round((rows - height) / 2.0), round((columns - width) / 2.0), height, width)


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """A rectangle of the picture in another size."""
    part = crop(img, top, left, height, width)
    return resize(part, list(pair(size)), interpolation, antialias=antialias)


def five_crop(img: Any, size: Any) -> tuple[Any, Any, Any, Any, Any]:
    """The four corners and the middle."""
    height, width = pair(size)
    _, rows, columns = get_dimensions(img)
    if width > columns or height > rows:
        raise ValueError(
            f"five_crop: Requested crop size {(height, width)} is bigger than input size "
            f"{(rows, columns)}"
        )
    bottom, right = rows - height, columns - width
    return (
        crop(img, 0, 0, height, width),
        crop(img, 0, right, height, width),
        crop(img, bottom, 0, height, width),
        crop(img, bottom, right, height, width),
        center_crop(img, (height, width)),
    )


def ten_crop(img: Any, size: Any, vertical_flip: bool = False) -> tuple[Any, ...]:
    """`five_crop` of the picture and of its mirror image."""
    mirrored = vflip(img) if vertical_flip else hflip(img)
    return five_crop(img, size) + five_crop(mirrored, size)


def _colours(img: Any, fill: Any) -> list[float] | None:
    """One number a channel for tensors, which blend what lies outside."""
    if fill is None:
        return None
    channels = get_dimensions(img)[0]
    numbers = [float(fill)] if isinstance(fill, int | float) else [float(each) for each in fill]
    if len(numbers) not in (1, channels):
        raise ValueError(
            "fill: The number of elements in 'fill' cannot broadcast to match the number of "
            f"channels of the image ({len(numbers)} != {channels})"
        )
    return numbers * channels if len(numbers) == 1 else numbers


def rotate(
    img: Any,
    angle: float,
    interpolation: Any = NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Any = None,
) -> Any:
    """The picture turned counter-clockwise by `angle` degrees."""
    mode = checked_mode(interpolation)
    if is_pil(img):
        return pillow.rotate(img, angle, mode, expand, center, fill)
    rules = rules_for(img)
    middle = [0.0, 0.0]
    if center is not None:
        _, height, width = get_dimensions(img)
        middle = [center[0] - width * 0.5, center[1] - height * 0.5]
    matrix = inverse_affine(middle, -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    return rules.affine(img, matrix, mode, _colours(img, fill), expand)


def affine(
    img: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Any,
    interpolation: Any = NEAREST,
    fill: Any = None,
    center: Sequence[float] | None = None,
) -> Any:
    """The picture sheared, turned, scaled around its centre, and shifted."""
    if not isinstance(translate, Sequence) or len(translate) != 2:
        raise ValueError(f"affine: translate should be a sequence of length 2, got {translate}")
    if scale <= 0.0:
        raise ValueError(f"affine: Argument scale should be positive, got {scale}")
    shears = [float(shear), 0.0] if isinstance(shear, int | float) else [float(x) for x in shear]
    shears = [shears[0], shears[0]] if len(shears) == 1 else shears
    if len(shears) != 2:
        raise ValueError(f"affine: Shear should be a sequence containing two values. Got {shear}")
    mode = checked_mode(interpolation)
    _, height, width = get_dimensions(img)
    if is_pil(img):
        middle = [width * 0.5, height * 0.5] if center is None else list(center)
        matrix = inverse_affine(middle, angle, translate, scale, shears)
        return pillow.affine(img, matrix, mode, fill)
    middle = [0.0, 0.0]
    if center is not None:
        middle = [center[0] - width * 0.5, center[1] - height * 0.5]
    matrix = inverse_affine(middle, angle, translate, scale, shears)
    return rules_for(img).affine(img, matrix, mode, _colours(img, fill))


def perspective(
    img: Any,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: Any = BILINEAR,
    fill: Any = None,
) -> Any:
    """The picture with four of its points moved to four others."""
    found = perspective_coefficients(startpoints, endpoints)
    colours = fill if is_pil(img) else _colours(img, fill)
    return rules_for(img).perspective(img, found, checked_mode(interpolation), colours)


def erase(img: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """A tensor with a rectangle set to `v`."""
    if not isinstance(img, TensorBase):
        raise TypeError(f"erase: img should be Tensor Image. Got {type(img)}")
    made: Any = img if inplace else t.clone(img)
    made[..., i : i + h, j : j + w] = v
    return made
