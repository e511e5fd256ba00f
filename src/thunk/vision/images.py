"""Enters: pictures as Pillow images or arrays. Leaves: arrays of pixels, and images made of them.

Invariant: this is the only module that knows whether Pillow is installed. Without it a picture is
an array of height x width (x channels) of bytes wherever torchvision has a Pillow image.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, NoReturn

import numpy

_why_missing = ""


def _pillow(module: str) -> Any:
    global _why_missing
    try:
        return importlib.import_module(f"PIL.{module}")
    except ImportError as missing:
        _why_missing = str(missing)
        return None


Image = _pillow("Image")
ImageEnhance = _pillow("ImageEnhance")
ImageOps = _pillow("ImageOps")

HAS_PILLOW = Image is not None


def need_pillow(what: str) -> NoReturn:
    """Say which optional dependency `what` needs."""
    raise ImportError(
        f"{what}: expected Pillow to be installed, got none ({_why_missing}); install Pillow or "
        "thunk[vision]"
    )


def is_pil(value: Any) -> bool:
    """Whether `value` is a Pillow image."""
    return HAS_PILLOW and isinstance(value, Image.Image)


def pixels_of(image: Any) -> numpy.ndarray:
    """The pixels of a Pillow image as an array that may be written to."""
    wide = {"I": numpy.int32, "I;16": numpy.int16, "F": numpy.float32}.get(image.mode)
    pixels = numpy.array(image, wide)
    return 255 * pixels.astype(numpy.uint8) if image.mode == "1" else pixels


def picture(pixels: numpy.ndarray) -> Any:
    """What a dataset hands out for bytes: a Pillow image, or without Pillow the array itself."""
    return Image.fromarray(pixels) if HAS_PILLOW else pixels


def load_picture(path: str | Path) -> Any:
    """The picture in a file, as RGB."""
    if not HAS_PILLOW:
        need_pillow("ImageFolder")
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")
