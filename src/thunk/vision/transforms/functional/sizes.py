"""Enters: pictures of any kind and what users write for sizes. Leaves: plain numbers.

Invariant: sizes are (channels, height, width) or (height, width), never Pillow's (width, height).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from thunk.types.tensor_base import TensorBase
from thunk.vision.images import is_pil


def get_dimensions(img: Any) -> list[int]:
    """Channels, height and width of a picture."""
    if isinstance(img, TensorBase):
        shape = tuple(img._spec.shape)
        if len(shape) < 2:
            raise TypeError(f"get_dimensions: Tensor is not a torch image, got shape {shape}")
        return [1 if len(shape) == 2 else int(shape[-3]), int(shape[-2]), int(shape[-1])]
    if isinstance(img, numpy.ndarray):
        if img.ndim not in (2, 3):
            raise ValueError(f"get_dimensions: expected 2 or 3 dimensions, got {img.ndim}")
        return [1 if img.ndim == 2 else img.shape[2], img.shape[0], img.shape[1]]
    if is_pil(img):
        return [len(img.getbands()), img.height, img.width]
    raise TypeError(f"expected a picture (PIL Image, Tensor or ndarray), got {type(img)}")


def get_image_size(img: Any) -> list[int]:
    """Width and height of a picture, in torchvision's order."""
    _, height, width = get_dimensions(img)
    return [width, height]


def get_image_num_channels(img: Any) -> int:
    """The number of channels of a picture."""
    return get_dimensions(img)[0]


def pair(value: Any, name: str = "size") -> tuple[int, int]:
    """A size as (height, width); one number stands for both."""
    if isinstance(value, int):
        return value, value
    if isinstance(value, Sequence) and len(value) == 1:
        return int(value[0]), int(value[0])
    if isinstance(value, Sequence) and len(value) == 2:
        return int(value[0]), int(value[1])
    raise ValueError(f"Please provide only two dimensions (h, w) for {name}, got {value!r}")


def borders(padding: Any) -> tuple[int, int, int, int]:
    """A padding as (left, top, right, bottom)."""
    if isinstance(padding, int):
        return (padding,) * 4
    if not isinstance(padding, Sequence):
        raise TypeError(f"pad: Got inappropriate padding arg, expected ints, got {padding!r}")
    if len(padding) == 1:
        return (int(padding[0]),) * 4
    if len(padding) == 2:
        return int(padding[0]), int(padding[1]), int(padding[0]), int(padding[1])
    if len(padding) == 4:
        left, top, right, bottom = (int(number) for number in padding)
        return left, top, right, bottom
    raise ValueError(
        f"pad: Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element "
        "tuple"
    )


def resized(height: int, width: int, size: Any, max_size: int | None) -> tuple[int, int]:
    """The size after a resize: two numbers as they are, one for the shorter side."""
    if not isinstance(size, int) and len(size) == 2:
        if max_size is not None:
            raise ValueError(
                "resize: max_size should only be passed if size specifies the length of the "
                f"smaller edge, got size={size}"
            )
        return int(size[0]), int(size[1])
    asked = size if isinstance(size, int) else int(size[0])
    short, long = sorted((height, width))
    new_short, new_long = asked, int(asked * long / short)
    if max_size is not None:
        if max_size <= asked:
            raise ValueError(
                f"resize: max_size = {max_size} must be strictly greater than the requested size "
                f"for the smaller edge size = {asked}"
            )
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_long, new_short) if width <= height else (new_short, new_long)
