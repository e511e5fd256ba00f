"""Enters: a shape and a memory format. Leaves: strides, and which format a tensor lies in."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.types.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    preserve_format,
)
from thunk.types.spec import TensorSpec, contiguous_strides

_DIMENSIONS = {channels_last: 4, channels_last_3d: 5}


def format_strides(shape: tuple[int, ...], wanted: Any) -> tuple[int, ...]:
    """Strides of a dense tensor in memory format `wanted`."""
    ndim = _DIMENSIONS.get(wanted)
    if ndim is None:
        return contiguous_strides(shape)
    if len(shape) != ndim:
        raise expected(f"a tensor with {ndim} dimensions for {wanted!r}", f"{len(shape)}")
    order = (0, *range(2, ndim), 1)
    moved = contiguous_strides(tuple(shape[d] for d in order))
    strides = [0] * ndim
    for position, dim in enumerate(order):
        strides[dim] = moved[position]
    return tuple(strides)


def lies_in(spec: TensorSpec, wanted: memory_format) -> bool:
    """Whether the elements lie in the order of `wanted`; dimensions of size one do not matter."""
    if wanted is contiguous_format or wanted is preserve_format:
        return spec.is_contiguous()
    if spec.ndim != _DIMENSIONS[wanted]:
        return False
    strides = zip(spec.shape, spec.strides, format_strides(spec.shape, wanted), strict=True)
    return all(size == 1 or have == want for size, have, want in strides)


def suggested_format(spec: TensorSpec) -> memory_format:
    """The format that an operator would give a result made from `spec` alone."""
    for wanted, ndim in _DIMENSIONS.items():
        if spec.ndim == ndim and not spec.is_contiguous() and lies_in(spec, wanted):
            return wanted
    return contiguous_format


def in_format(spec: TensorSpec, wanted: Any) -> TensorSpec:
    """The spec of a copy in memory format `wanted`; None and `preserve_format` keep the order."""
    if wanted is None or wanted is preserve_format:
        return spec.fresh()
    return TensorSpec(spec.shape, spec.dtype, format_strides(spec.shape, wanted), 0, spec.device)
