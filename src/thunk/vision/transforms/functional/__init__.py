"""`thunk.vision.transforms.functional`: transforms as functions of pictures and parameters."""

from thunk.vision.transforms.functional.appearance import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    gaussian_blur,
    invert,
    posterize,
    rgb_to_grayscale,
    solarize,
    to_grayscale,
)
from thunk.vision.transforms.functional.convert import (
    convert_image_dtype,
    normalize,
    pil_to_tensor,
    to_picture,
    to_pil_image,
    to_tensor,
)
from thunk.vision.transforms.functional.geometry import (
    affine,
    center_crop,
    crop,
    erase,
    five_crop,
    hflip,
    pad,
    perspective,
    resize,
    resized_crop,
    rotate,
    ten_crop,
    vflip,
)
from thunk.vision.transforms.functional.sizes import (
    get_dimensions,
    get_image_num_channels,
    get_image_size,
)
from thunk.vision.transforms.interpolation import InterpolationMode

__all__ = [
    "InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_saturation", "adjust_sharpness", "affine", "autocontrast", "center_crop",
    "convert_image_dtype", "crop", "equalize", "erase", "five_crop", "gaussian_blur",
    "get_dimensions", "get_image_num_channels", "get_image_size", "hflip", "invert", "normalize",
    "pad", "perspective", "pil_to_tensor", "posterize", "resize", "resized_crop",
    "rgb_to_grayscale", "rotate", "solarize", "ten_crop", "to_grayscale", "to_picture",
    "to_pil_image", "to_tensor", "vflip",
]  # fmt: skip
