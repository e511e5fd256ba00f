"""`thunk.vision.io`: picture files as tensors of bytes, and back.

Reading and JPEG need Pillow; PNG is written without it. Tensors are channels x height x width.
"""

from __future__ import annotations

import io
from enum import Enum
from pathlib import Path
from typing import Any

import numpy

from thunk.lazy.eager import eager
from thunk.runtime.tensors import array_from, tensor_from_array
from thunk.types.tensor_base import TensorBase
from thunk.vision import images, png
from thunk.vision.transforms.functional.convert import pil_to_tensor

__all__ = [
    "ImageReadMode", "decode_image", "decode_jpeg", "decode_png", "encode_jpeg", "encode_png",
    "read_file", "read_image", "write_file", "write_jpeg", "write_png",
]  # fmt: skip


class ImageReadMode(Enum):
    """Which channels a picture is read with."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_MODES = {
    ImageReadMode.GRAY: "L",
    ImageReadMode.GRAY_ALPHA: "LA",
    ImageReadMode.RGB: "RGB",
    ImageReadMode.RGB_ALPHA: "RGBA",
}
# How Pillow's other modes are read when nothing is asked for.
_UNCHANGED = {"P": "RGB", "1": "L", "CMYK": "RGB", "YCbCr": "RGB", "HSV": "RGB"}


def read_file(path: str | Path) -> Any:
    """The bytes of a file."""
    return tensor_from_array(numpy.frombuffer(Path(path).read_bytes(), numpy.uint8))


def write_file(filename: str | Path, data: Any) -> None:
    """Write bytes to a file."""
    Path(filename).write_bytes(_bytes_of(data))


def _bytes_of(data: Any) -> bytes:
    if not isinstance(data, TensorBase) or data._spec.dtype.numpy != numpy.uint8:
        raise TypeError(f"expected a tensor of bytes, got {type(data).__name__}")
    with eager():
        return array_from(data).tobytes()


def decode_image(
    input: Any, mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Any:  # fmt: skip
    """The picture in a file, or in the bytes of one."""
    if not images.HAS_PILLOW:
        images.need_pillow("decode_image")
    wanted = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    data = Path(input).read_bytes() if isinstance(input, str | Path) else _bytes_of(input)
    with images.Image.open(io.BytesIO(data)) as picture:
        if apply_exif_orientation:
            picture = images.ImageOps.exif_transpose(picture)
        target = _MODES.get(wanted, _UNCHANGED.get(picture.mode, picture.mode))
        return pil_to_tensor(picture if picture.mode == target else picture.convert(target))


read_image = decode_png = decode_jpeg = decode_image


def _pixels_of(input: Any, name: str) -> numpy.ndarray:
    if not isinstance(input, TensorBase) or len(input._spec.shape) != 3:
        raise ValueError(f"{name}: expected a tensor of channels x height x width, got {input!r}")
    with eager():
        return numpy.ascontiguousarray(array_from(input).transpose(1, 2, 0))


def encode_png(input: Any, compression_level: int = 6) -> Any:
    """A PNG of a tensor of bytes with 1 to 4 channels, as a tensor."""
    data = png.encoded(_pixels_of(input, "encode_png"), compression_level)
    return tensor_from_array(numpy.frombuffer(data, numpy.uint8))


def write_png(input: Any, filename: str | Path, compression_level: int = 6) -> None:
    """Write a tensor of bytes as a PNG."""
    write_file(filename, encode_png(input, compression_level))


def encode_jpeg(input: Any, quality: int = 75) -> Any:
    """A JPEG of a tensor of bytes with 1 or 3 channels, as a tensor."""
    if not images.HAS_PILLOW:
        images.need_pillow("encode_jpeg")
    pixels = _pixels_of(input, "encode_jpeg")
    stream = io.BytesIO()
    flat = pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
    images.Image.fromarray(flat).save(stream, format="JPEG", quality=quality)
    return tensor_from_array(numpy.frombuffer(stream.getvalue(), numpy.uint8))


def write_jpeg(input: Any, filename: str | Path, quality: int = 75) -> None:
    """Write a tensor of bytes as a JPEG."""
    write_file(filename, encode_jpeg(input, quality))
