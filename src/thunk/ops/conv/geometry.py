"""Enters: specs of input, weight and bias and the window arguments. Leaves: the result's spec.

Invariant: a convolution that passes here has one number a spatial dimension for every argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thunk.base.errors import Mismatch, expected
from thunk.ops.rules.spatial import (
    INEXACT,
    NUMERIC,
    check_dtype,
    per_dimension,
    picture_spec,
    suggests_channels_last,
)
from thunk.types.dtype import FLOATING, float64, int64
from thunk.types.spec import TensorSpec

Ints = Sequence[int]


@dataclass(frozen=True, slots=True)
class Windows:
    """How a convolution's windows lie: one number a spatial dimension each."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int


def windows(
    dims: int, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
    output_padding: Ints, groups: int,
) -> Windows:  # fmt: skip
    """The arguments of `convolution`, single numbers spread over the dimensions, signs checked."""
    found = Windows(
        per_dimension(stride, dims, "stride"),
        per_dimension(padding, dims, "padding"),
        per_dimension(dilation, dims, "dilation"),
        transposed,
        per_dimension(output_padding, dims, "output_padding"),
        groups,
    )
    for name in ("padding", "output_padding"):
        if any(each < 0 for each in getattr(found, name)):
            raise Mismatch(f"negative {name} is not supported, got {list(getattr(found, name))}")
    for name in ("stride", "dilation"):
        if any(each <= 0 for each in getattr(found, name)):
            raise Mismatch(f"non-positive {name} is not supported, got {getattr(found, name)}")
    if groups <= 0:
        raise Mismatch(f"non-positive groups is not supported, got {groups}")
    return found


def convolution_spec(
    input: TensorSpec, weight: TensorSpec, bias: TensorSpec | None, stride: Ints, padding: Ints,
    dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
) -> TensorSpec:  # fmt: skip
    """The spec of `convolution`'s result."""
    if weight.ndim < 3:
        raise Mismatch(f"weight should have at least three dimensions, got {list(weight.shape)}")
    places = windows(
        weight.ndim - 2, stride, padding, dilation, transposed, output_padding, groups
    )
    _check_operands(input, weight, bias, places)
    if transposed:
        channels = weight.shape[1] * groups
        spatial = _transposed_sizes(input, weight, places)
    else:
        # A picture without channels gives one without channels, whatever the weight says.
        channels = weight.shape[0] if input.shape[1] else 0
        spatial = _plain_sizes(input, weight, places)
    shape = (input.shape[0], channels, *spatial)
    return picture_spec(input, shape, channels_last=_channels_last(input, weight))


def _check_operands(
    input: TensorSpec, weight: TensorSpec, bias: TensorSpec | None, places: Windows
) -> None:
    groups, size = places.groups, list(weight.shape)
    if input.ndim != weight.ndim:
        raise Mismatch(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight "
            f"{size}, but got {input.ndim}-dimensional input of size {list(input.shape)} instead"
        )
    if weight.shape[0] < groups:
        raise Mismatch(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, "
            f"but got weight of size {size} instead"
        )
    if weight.shape[0] % groups:
        raise Mismatch(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {size} instead"
        )
    channels = weight.shape[0] if places.transposed else weight.shape[1] * groups
    if input.shape[1] != channels:
        given = "transposed=1" if places.transposed else f"groups={groups}"
        raise Mismatch(
            f"Given {given}, weight of size {size}, expected input{list(input.shape)} to have "
            f"{channels} channels, but got {input.shape[1]} channels instead"
        )
    results = weight.shape[1] * groups if places.transposed else weight.shape[0]
    if bias is not None and bias.shape != (results,):
        raise Mismatch(
            f"Given weight of size {size}, expected bias to be 1-dimensional with {results} "
            f"elements, but got bias of size {list(bias.shape)} instead"
        )
    _check_dtypes(input, weight, bias, places.transposed)


def _check_dtypes(
    input: TensorSpec, weight: TensorSpec, bias: TensorSpec | None, transposed: bool
) -> None:
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.dtype is not input.dtype:
            raise Mismatch(
                f"Input type ({input.dtype!r}) and {name} type ({other.dtype!r}) should be the "
                "same; convert one with .to(...)"
            )
    if transposed:
        check_dtype(input, INEXACT, int64)
    else:
        check_dtype(input, NUMERIC)


def _plain_sizes(input: TensorSpec, weight: TensorSpec, places: Windows) -> list[int]:
    padded = [size + 2 * pad for size, pad in zip(input.shape[2:], places.padding)]
    kernel = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], places.dilation)]
    if 0 in weight.shape[2:]:
        raise expected("a kernel without empty dimensions", list(weight.shape))
    if any(size < reach for size, reach in zip(padded, kernel)):
        raise Mismatch(
            f"Calculated padded input size per channel: ({_cross(padded)}). "
            f"Kernel size: ({_cross(kernel)}). "
            "Kernel size can't be greater than actual input size"
        )
    return [
        (size - reach) // step + 1 for size, reach, step in zip(padded, kernel, places.stride)
    ]


def _transposed_sizes(input: TensorSpec, weight: TensorSpec, places: Windows) -> list[int]:
    for extra, step, gap in zip(places.output_padding, places.stride, places.dilation):
        if extra >= step and extra >= gap:
            raise Mismatch(
                "output padding must be smaller than either stride or dilation, but got "
                f"output_padding: {places.output_padding}, stride: {places.stride}, "
                f"dilation: {places.dilation}"
            )
    sizes = transposed_sizes(input.shape[2:], weight.shape[2:], places)
    if any(size < 1 for size in sizes):
        raise expected(
            "arguments that give an output of positive size", sizes, "use less padding"
        )
    return sizes


def transposed_sizes(size: Ints, kernel: Ints, places: Windows) -> list[int]:
    """The spatial sizes of a transposed convolution's result."""
    return [
        (n - 1) * places.stride[d] - 2 * places.padding[d]
        + places.dilation[d] * (kernel[d] - 1) + places.output_padding[d] + 1
        for d, n in enumerate(size)
    ]  # fmt: skip


def _channels_last(input: TensorSpec, weight: TensorSpec) -> bool:
    if input.ndim == 5 and (input.dtype is float64 or input.dtype.category < FLOATING):
        return False
    return suggests_channels_last(input) or suggests_channels_last(weight)


def _cross(sizes: Ints) -> str:
    return " x ".join(str(size) for size in sizes)
