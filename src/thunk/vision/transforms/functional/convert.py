"""Enters: Pillow images, arrays and tensors. Leaves: the same pictures as another of these.

Invariant: tensors have channels first and floats from 0 to 1; arrays and images channels last and
bytes. Conversions of images and arrays run at once: pictures are leaves of traces.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.data.gather import is_plain
from thunk.ops.registry import t
from thunk.runtime.tensors import array_from, tensor_like
from thunk.tensor.creation import as_tensor
from thunk.types.dtype import dtype as Element
from thunk.types.dtype import float32, float64, from_numpy_dtype, int32, int64
from thunk.types.info import iinfo
from thunk.types.promotion import get_default_dtype
from thunk.types.spec import make_spec
from thunk.types.tensor_base import TensorBase
from thunk.vision import images

_TWO_OR_THREE = "should be 2/3 dimensional"


def fresh(array: numpy.ndarray) -> Any:
    """A tensor that takes an array over."""
    return tensor_like(array, make_spec(tuple(array.shape), from_numpy_dtype(array.dtype)))


def _pixels(pic: Any, name: str) -> Any:
    """The picture as an array of height x width x channels."""
    if images.is_pil(pic):
        pic = images.pixels_of(pic)
    elif not isinstance(pic, numpy.ndarray):
        raise TypeError(f"{name}: pic should be PIL Image or ndarray. Got {type(pic)}")
    if pic.ndim not in (2, 3):
        raise ValueError(f"{name}: pic {_TWO_OR_THREE}. Got {pic.ndim} dimensions.")
    return pic[:, :, None] if pic.ndim == 2 else pic


def scaled(planes: numpy.ndarray) -> numpy.ndarray:
    """Bytes as numbers from 0 to 1 of the default dtype; other numbers as they are."""
    if planes.dtype != numpy.uint8:
        return numpy.array(planes, order="C")
    wide = numpy.ascontiguousarray(planes).astype(get_default_dtype().numpy)
    wide /= wide.dtype.type(255)
    return wide


def to_tensor(pic: Any) -> Any:
    """A picture as a tensor: channels first, bytes as floats from 0 to 1."""
    return fresh(scaled(_pixels(pic, "to_tensor").transpose(2, 0, 1)))


def pil_to_tensor(pic: Any) -> Any:
    """A Pillow image as a tensor of its own numbers, channels first."""
    if not images.is_pil(pic):
        raise TypeError(f"pil_to_tensor: pic should be PIL Image. Got {type(pic)}")
    return fresh(_pixels(pic, "pil_to_tensor").transpose(2, 0, 1).copy())


_MODES: dict[int, dict[str, tuple[str, ...]]] = {
    1: {"uint8": ("L",), "int16": ("I;16",), "int32": ("I",), "float32": ("F",)},
    2: {"uint8": ("LA",)},
    3: {"uint8": ("RGB", "YCbCr", "HSV")},
    4: {"uint8": ("RGBA", "CMYK", "RGBX")},
}


def _as_pixels(pic: Any, mode: str | None) -> numpy.ndarray:
    """A tensor or array as height x width x channels, floats of tensors as bytes."""
    if isinstance(pic, TensorBase):
        whole: Any = pic
        if whole.dim() not in (2, 3):
            raise ValueError(f"to_pil_image: pic {_TWO_OR_THREE}. Got {whole.dim()} dimensions.")
        planes = whole if whole.dim() == 3 else whole.unsqueeze(0)
        if planes.is_floating_point() and mode != "F":
            planes = planes.mul(255).byte()
        pixels: numpy.ndarray = array_from(planes.detach()).transpose(1, 2, 0)
        return pixels
    if not isinstance(pic, numpy.ndarray):
        raise TypeError(f"to_pil_image: pic should be Tensor or ndarray. Got {type(pic)}.")
    given: numpy.ndarray = _pixels(pic, "to_pil_image")
    return given


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """A tensor or array as a Pillow image."""
    if not images.HAS_PILLOW:
        images.need_pillow("to_pil_image")
    pixels = _as_pixels(pic, mode)
    channels = pixels.shape[2]
    if channels not in _MODES:
        raise ValueError(
            f"to_pil_image: pic should not have > 4 channels. Got {channels} channels."
        )
    possible = _MODES[channels].get(str(pixels.dtype), ())
    if mode is not None and mode not in possible:
        raise ValueError(
            f"to_pil_image: Incorrect mode ({mode}) supplied for {channels} channels of "
            f"{pixels.dtype}; expected one of {possible}"
        )
    if not possible:
        raise TypeError(f"to_pil_image: Input type {pixels.dtype} is not supported")
    chosen = mode or possible[0]
    flat = numpy.ascontiguousarray(pixels[:, :, 0] if channels == 1 else pixels)
    if chosen in ("L", "LA", "RGB", "RGBA", "F", "I", "I;16"):
        return images.Image.fromarray(flat)
    return images.Image.frombytes(chosen, (pixels.shape[1], pixels.shape[0]), flat.tobytes())


def to_picture(pic: Any) -> Any:
    """What a dataset hands out for a tensor: a Pillow image, or without Pillow an array."""
    if images.HAS_PILLOW:
        return to_pil_image(pic)
    pixels = _as_pixels(pic, None)
    return numpy.ascontiguousarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)


def convert_image_dtype(image: Any, dtype: Element = float32) -> Any:
    """A tensor of another dtype, its values scaled to that dtype's range."""
    if image.dtype is dtype:
        return image
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        unsafe = (float32, int32), (float32, int64), (float64, int64)
        if (image.dtype, dtype) in unsafe:
            raise RuntimeError(
                f"convert_image_dtype: The cast from {image.dtype} to {dtype} cannot be performed "
                "safely; choose a smaller integer dtype"
            )
        return image.mul(iinfo(dtype).max + 1.0 - 1e-3).to(dtype)
    source_limit = iinfo(image.dtype).max
    if dtype.is_floating_point:
        return image.to(dtype) / source_limit
    limit = iinfo(dtype).max
    if source_limit > limit:
        return t.div(image, (source_limit + 1) // (limit + 1), rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((limit + 1) // (source_limit + 1))


def _per_channel(values: Any, like: Any) -> Any:
    made = as_tensor(values, dtype=like.dtype, device=like.device)
    return made.view(-1, 1, 1) if made.dim() == 1 else made


def _check_normal(tensor: Any, std: Any) -> None:
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"normalize: img should be Tensor Image. Got {type(tensor)}")
    spec = tensor._spec
    if not spec.dtype.is_floating_point:
        raise TypeError(f"normalize: Input tensor should be a float tensor. Got {spec.dtype}.")
    if len(spec.shape) < 3:
        raise ValueError(
            "normalize: Expected tensor to be a tensor image of size (..., C, H, W). Got "
            f"tensor.size() = {spec.shape}"
        )
    if not numpy.asarray(std, spec.dtype.numpy).all():
        raise ValueError(
            f"normalize: std evaluated to zero after conversion to {spec.dtype}, leading to "
            "division by zero."
        )


def normalize(tensor: Any, mean: Any, std: Any, inplace: bool = False) -> Any:
    """`(tensor - mean) / std`, channel by channel."""
    _check_normal(tensor, std)
    direct = is_plain(tensor) and tensor._spec.is_contiguous() and not inplace
    if direct and per_channel_numbers(mean, std, tensor._spec.shape[-3]):
        return fresh(normalized(array_from(tensor), mean, std))
    if not inplace:
        tensor = tensor.clone()
    return tensor.sub_(_per_channel(mean, tensor)).div_(_per_channel(std, tensor))


def per_channel_numbers(mean: Any, std: Any, channels: int) -> bool:
    """Whether mean and std are plain numbers, one or one a channel."""
    for values in (mean, std):
        if isinstance(values, TensorBase) or numpy.shape(values) not in ((), (1,), (channels,)):
            return False
    return True


def normalized(planes: numpy.ndarray, mean: Any, std: Any) -> numpy.ndarray:
    """`normalize` of an array with channels before height and width."""
    shape = (-1, 1, 1)
    result = planes - numpy.asarray(mean, planes.dtype).reshape(shape)
    result /= numpy.asarray(std, planes.dtype).reshape(shape)
    return numpy.ascontiguousarray(result)
