"""Enters: tensors of (..., channels, height, width). Leaves: the same pictures in other colours.

Invariant: floats range from 0 to 1 and integers over their dtype; results keep the dtype.
"""

from __future__ import annotations

from typing import Any

from thunk.nn import functional
from thunk.ops.registry import t
from thunk.tensor.creation import as_tensor
from thunk.types.dtype import float32, int64, uint8
from thunk.types.info import iinfo
from thunk.vision.transforms.functional.convert import convert_image_dtype
from thunk.vision.transforms.functional.tensors import as_batch

_GREY_WEIGHTS = (0.2989, 0.587, 0.114)


def largest(img: Any) -> float:
    """The value of white."""
    return 1.0 if img.is_floating_point() else float(iinfo(img.dtype).max)


def _channels(img: Any) -> int:
    return 1 if img.dim() == 2 else int(img.shape[-3])


def _check_channels(img: Any, name: str) -> None:
    if img.dim() < 3 or _channels(img) not in (1, 3):
        raise TypeError(
            f"{name}: Input image tensor permitted channel values are 1 or 3, but found "
            f"{_channels(img)}"
        )


def _blend(first: Any, second: Any, ratio: float) -> Any:
    mixed = ratio * first + (1.0 - ratio) * second
    return mixed.clamp(0, largest(first)).to(first.dtype)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """One grey channel, or three equal ones."""
    if num_output_channels not in (1, 3):
        raise ValueError(
            f"rgb_to_grayscale: num_output_channels should be either 1 or 3, got "
            f"{num_output_channels}"
        )
    _check_channels(img, "rgb_to_grayscale")
    grey = img
    if _channels(img) == 3:
        parts = img.unbind(-3)
        red, green, blue = (weight * part for weight, part in zip(_GREY_WEIGHTS, parts))
        grey = (red + green + blue).to(img.dtype).unsqueeze(-3)
    return grey.expand(img.shape) if num_output_channels == 3 else grey


def adjust_brightness(img: Any, factor: float) -> Any:
    """Mixed with black."""
    return _blend(img, t.zeros_like(img), factor)


def adjust_contrast(img: Any, factor: float) -> Any:
    """Mixed with the mean grey."""
    _check_channels(img, "adjust_contrast")
    element = img.dtype if img.is_floating_point() else float32
    mean = rgb_to_grayscale(img).to(element).mean((-3, -2, -1), keepdim=True)
    return _blend(img, mean, factor)


def adjust_saturation(img: Any, factor: float) -> Any:
    """Mixed with its own grey."""
    _check_channels(img, "adjust_saturation")
    return img if _channels(img) == 1 else _blend(img, rgb_to_grayscale(img), factor)


def _to_hsv(img: Any) -> Any:
    red, green, blue = img.unbind(-3)
    high, low = img.amax(-3), img.amin(-3)
    grey = high == low
    span = high - low
    ones = t.ones_like(high)
    saturation = span / t.where(grey, ones, high)
    divisor = t.where(grey, ones, span)
    from_red, from_green, from_blue = ((high - part) / divisor for part in (red, green, blue))
    hue = (high == red) * (from_blue - from_green)
    hue = hue + ((high == green) & (high != red)) * (2.0 + from_red - from_blue)
    hue = hue + ((high != green) & (high != red)) * (4.0 + from_green - from_red)
    return t.fmod(hue / 6.0 + 1.0, 1.0), saturation, high


def _to_rgb(hue: Any, saturation: Any, value: Any) -> Any:
    sector = t.floor(hue * 6.0)
    rest = hue * 6.0 - sector
    low = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    falling = (value * (1.0 - saturation * rest)).clamp(0.0, 1.0)
    rising = (value * (1.0 - saturation * (1.0 - rest))).clamp(0.0, 1.0)
    sector = sector.to(int64) % 6
    choices = (
        (value, falling, low, low, rising, value),
        (rising, value, value, falling, low, low),
        (low, low, rising, value, value, falling),
    )
    planes = [t.stack(list(parts), 0) for parts in choices]
    return t.stack([t.gather(plane, 0, sector.unsqueeze(0))[0] for plane in planes], -3)


def adjust_hue(img: Any, factor: float) -> Any:
    """Colours turned by a part of the circle."""
    _check_channels(img, "adjust_hue")
    if _channels(img) == 1:
        return img
    hue, saturation, value = _to_hsv(convert_image_dtype(img, float32))
    turned = _to_rgb((hue + factor) % 1.0, saturation, value)
    return convert_image_dtype(turned, img.dtype)


def adjust_gamma(img: Any, gamma: float, gain: float) -> Any:
    """`gain * img ** gamma`."""
    wide = img if img.is_floating_point() else convert_image_dtype(img, float32)
    return convert_image_dtype((gain * wide**gamma).clamp(0, 1), img.dtype)


def invert(img: Any) -> Any:
    """The negative."""
    return largest(img) - img if img.is_floating_point() else int(largest(img)) - img


def posterize(img: Any, bits: int) -> Any:
    """Only the first bits of each value."""
    if img.dtype is not uint8:
        raise TypeError(f"posterize: Only torch.uint8 image tensors are supported, got {img.dtype}")
    return img & (256 - 2 ** (8 - bits))


def solarize(img: Any, threshold: float) -> Any:
    """What is brighter than a threshold, inverted."""
    if threshold > largest(img):
        raise TypeError(
            f"solarize: Threshold should be less than bound of img, got {threshold} > "
            f"{largest(img)}"
        )
    return t.where(img >= threshold, invert(img), img)


def autocontrast(img: Any) -> Any:
    """Each channel stretched from black to white."""
    white = largest(img)
    element = img.dtype if img.is_floating_point() else float32
    low, high = (reduce((-2, -1), keepdim=True).to(element) for reduce in (img.amin, img.amax))
    flat = low == high
    scale = t.where(flat, t.ones_like(low), white / t.where(flat, t.ones_like(low), high - low))
    start = t.where(flat, t.zeros_like(low), low)
    return ((img - start) * scale).clamp(0, white).to(img.dtype)


def _equalized_plane(plane: Any) -> Any:
    counts = t.bincount(plane.reshape(-1).to(int64), minlength=256)
    filled = counts[counts != 0]
    step = int(filled[:-1].sum().item()) // 255
    if step == 0:
        return plane
    steps = t.div(t.cumsum(counts, 0) + step // 2, step, rounding_mode="floor")
    table = functional.pad(steps, [1, 0])[:-1].clamp(0, 255)
    return table[plane.to(int64)].to(uint8)


def equalize(img: Any) -> Any:
    """Each channel with its brightness spread evenly."""
    if img.dtype is not uint8:
        raise TypeError(f"equalize: Only torch.uint8 image tensors are supported, got {img.dtype}")
    planes = img.reshape(-1, *img.shape[-2:]).unbind(0)
    return t.stack([_equalized_plane(plane) for plane in planes], 0).reshape(img.shape)


def _filtered(batch: Any, kernel: Any) -> Any:
    channels = batch.shape[1]
    weights = kernel.to(batch.dtype).expand(channels, 1, *kernel.shape)
    return functional.conv2d(batch, weights, groups=channels)


def adjust_sharpness(img: Any, factor: float) -> Any:
    """Mixed with a softened copy; the outermost pixels stay."""
    if min(img.shape[-2:]) <= 2:
        return img
    batch, back = as_batch(img)
    kernel = t.ones(3, 3)
    kernel[1, 1] = 5.0
    soft = batch.clone()
    soft[..., 1:-1, 1:-1] = _filtered(batch, kernel / kernel.sum())
    return _blend(img, back(soft), factor)


def _gaussian(size: int, sigma: float) -> Any:
    half = (size - 1) * 0.5
    places = t.linspace(-half, half, size)
    weights = t.exp(-0.5 * (places / sigma).pow(2))
    return weights / weights.sum()


def gaussian_blur(img: Any, sizes: list[int], sigmas: list[float]) -> Any:
    """Blurred by a Gaussian of `sizes` (width, height) pixels."""
    across, down = (_gaussian(size, sigma) for size, sigma in zip(sizes, sigmas))
    kernel = as_tensor(down[:, None] * across[None, :])
    batch, back = as_batch(img)
    reach_x, reach_y = sizes[0] // 2, sizes[1] // 2
    framed = functional.pad(batch, [reach_x, reach_x, reach_y, reach_y], mode="reflect")
    return back(_filtered(framed, kernel))
