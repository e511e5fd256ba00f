"""Resizing and sampling under the names and signatures of `torch.nn.functional`.

Enters: pictures, a size or scales, the name of a mode. Leaves: what the mode's operator returns.
Invariant: exactly one of size and scales reaches an operator.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy

from thunk.ops import families
from thunk.ops.registry import t
from thunk.types.tensor_base import TensorBase

__all__ = [
    "affine_grid", "channel_shuffle", "grid_sample", "interpolate", "native_channel_shuffle",
    "pixel_shuffle", "pixel_unshuffle", "upsample", "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

DECLARED = families.FAMILIES

pixel_shuffle, pixel_unshuffle = t.pixel_shuffle, t.pixel_unshuffle
channel_shuffle, native_channel_shuffle = t.channel_shuffle, t.native_channel_shuffle

# (mode, spatial dimensions) -> operator
_PLAIN = {
    **{("nearest", n): f"upsample_nearest{n}d" for n in (1, 2, 3)},
    **{("nearest-exact", n): f"_upsample_nearest_exact{n}d" for n in (1, 2, 3)},
}
_ALIGNED = {
    ("linear", 1): "upsample_linear1d",
    ("bilinear", 2): "upsample_bilinear2d",
    ("bicubic", 2): "upsample_bicubic2d",
    ("trilinear", 3): "upsample_trilinear3d",
}
_FILTERED = {
    "bilinear": "_upsample_bilinear2d_aa",
    "bicubic": "_upsample_bicubic2d_aa",
    "lanczos": "_upsample_lanczos2d_aa",
}
_UNALIGNED_MODES = ("nearest", "area", "nearest-exact")
_LINEAR_OF_DIMS = {1: "linear", 2: "bilinear", 3: "trilinear"}


def _is_integer(value: Any) -> bool:
    if isinstance(value, TensorBase):
        return not value._spec.dtype.is_floating_point
    return isinstance(value, (int, numpy.integer))


def _one_each(name: str, value: Any, input: Any) -> list[Any]:
    """A size or scale as one a spatial dimension."""
    dims = input.ndim - 2
    if not isinstance(value, (list, tuple)):
        return [value] * dims
    if len(value) != dims:
        raise ValueError(
            f"interpolate: expected {name} with one number for each of the spatial dimensions "
            f"{list(input.shape[2:])}, got {list(value)}; the input is (N, C, d1, d2, ...)"
        )
    return list(value)


def _sizes(
    input: Any, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[list[Any] | None, list[Any] | None]:
    """The output size or the scales; the other is None."""
    if size is not None and scale_factor is not None:
        raise ValueError("interpolate: expected only one of size and scale_factor, got both")
    if size is None and scale_factor is None:
        raise ValueError("interpolate: expected either size or scale_factor, got neither")
    if size is not None:
        if recompute:
            raise ValueError(
                "interpolate: recompute_scale_factor is not meaningful with an explicit size"
            )
        sizes = _one_each("size", size, input)
        if isinstance(size, (list, tuple)) and not all(_is_integer(each) for each in sizes):
            raise TypeError(
                "interpolate: expected size to be one int or one a spatial dimension, got "
                f"{[type(each).__name__ for each in sizes]}"
            )
        return sizes, None
    factors = _one_each("scale_factor", scale_factor, input)
    if recompute:
        return [int(n * factor) for n, factor in zip(input.shape[2:], factors)], None
    return None, factors


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:  # fmt: skip
    """`input` (N, C, one to three spatial dimensions) at another size."""
    if mode in _UNALIGNED_MODES and align_corners is not None:
        raise ValueError(
            "interpolate: align_corners option can only be set with the interpolating modes: "
            f"linear | bilinear | bicubic | trilinear, got mode {mode!r}"
        )
    recompute = recompute_scale_factor
    if mode == "area" and size is None:
        recompute = True
    output_size, factors = _sizes(input, size, scale_factor, recompute)
    if antialias and not (mode in _FILTERED and input.ndim == 4):
        raise ValueError(
            "interpolate: Anti-alias option is restricted to bilinear, bicubic and lanczos modes "
            f"and requires a 4-D tensor as input, got mode {mode!r} and {input.ndim} dimensions"
        )
    return _resized(input, output_size, factors, mode, bool(align_corners), antialias)


def _resized(
    input: Any, output_size: Any, factors: Any, mode: str, align_corners: bool, antialias: bool
) -> Any:
    dims = input.ndim - 2
    if antialias:
        return getattr(t, _FILTERED[mode])(input, output_size, align_corners, factors)
    if (mode, dims) in _PLAIN:
        return getattr(t, _PLAIN[mode, dims])(input, output_size, factors)
    if (mode, dims) in _ALIGNED:
        return getattr(t, _ALIGNED[mode, dims])(input, output_size, align_corners, factors)
    if mode == "area" and dims in _LINEAR_OF_DIMS:
        return getattr(t, f"adaptive_avg_pool{dims}d")(input, output_size)
    _refuse_mode(mode, dims)
    raise AssertionError("unreachable")


def _refuse_mode(mode: str, dims: int) -> None:
    if mode == "lanczos":
        raise ValueError("interpolate: lanczos mode needs antialias=True and a 4-D input")
    if mode in _LINEAR_OF_DIMS.values() and dims in _LINEAR_OF_DIMS:
        raise NotImplementedError(
            f"interpolate: expected mode {_LINEAR_OF_DIMS[dims]!r} for a {dims + 2}D input, "
            f"got {mode!r}"
        )
    raise NotImplementedError(
        "interpolate: Input Error: Only 3D, 4D and 5D input Tensors supported, with modes "
        "nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact | lanczos, "
        f"got a {dims + 2}D input and mode {mode!r}"
    )


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:  # fmt: skip
    """The old name of `interpolate`."""
    _warn_old_name("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """The old name of `interpolate` in mode nearest."""
    _warn_old_name("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """The old name of `interpolate` in mode bilinear, corners aligned."""
    _warn_old_name("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _warn_old_name(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=3,
    )


def _check_alignment(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            "grid_sample and affine_grid take align_corners=False unless told otherwise; pass "
            "align_corners to silence this",
            stacklevel=3,
        )
    return bool(align_corners)


_SAMPLING_MODES = ("bilinear", "nearest", "bicubic")
_PADDING_MODES = ("zeros", "border", "reflection")


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:  # fmt: skip
    """Pictures or volumes sampled at the places of a grid, given from -1 to 1."""
    if mode not in _SAMPLING_MODES:
        raise ValueError(f"grid_sample: expected mode among {_SAMPLING_MODES}, got {mode!r}")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"grid_sample: expected padding_mode among {_PADDING_MODES}, got {padding_mode!r}"
        )
    aligned = _check_alignment(align_corners)
    modes = _SAMPLING_MODES.index(mode), _PADDING_MODES.index(padding_mode)
    return t.grid_sampler(input, grid, *modes, aligned)


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool | None = None) -> Any:
    """The grid that samples a picture of `size` through each affine map of a batch."""
    aligned = _check_alignment(align_corners)
    if not theta.dtype.is_floating_point:
        raise ValueError(f"affine_grid: expected floating point theta, got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D transforms, got {size}"
        )
    dims = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(
            f"affine_grid: expected a batch of {dims}D affine matrices of shape "
            f"Nx{dims}x{dims + 1} for size {list(size)}, got {list(theta.shape)}"
        )
    if aligned and min(size[2:]) == 1:
        warnings.warn(
            "affine_grid places grids of unit size at 0 when align_corners=True; this is not an "
            "intended use",
            stacklevel=2,
        )
    elif min(size) <= 0:
        raise ValueError(f"affine_grid: expected positive sizes, got {list(size)}")
    return t.affine_grid_generator(theta, size, aligned)
