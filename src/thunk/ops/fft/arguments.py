"""Enters: what users of `fft` write. Leaves: dimensions, sizes and scales that transforms take.

Invariant: signals leave in a dtype with a transform, of exactly the sizes to be transformed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.fft.transforms import Scale
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.types.dtype import bfloat16, float16
from thunk.types.promotion import get_default_dtype


def scale_of(norm: str | None, forward: bool) -> Scale:
    """What a transform in that direction divides by under a normalization mode."""
    if norm == "ortho":
        return Scale.ROOT_N
    if norm is None or norm == "backward":
        return Scale.NONE if forward else Scale.N
    if norm == "forward":
        return Scale.N if forward else Scale.NONE
    raise Mismatch(f'Invalid normalization mode: "{norm}"; use "forward", "backward" or "ortho"')


def as_signal(self: Any, complex_too: bool = True) -> Any:
    """`self` in a dtype that has a transform; `complex_too` makes reals complex."""
    element = self._spec.dtype
    if element in (float16, bfloat16):
        raise Mismatch(f"Unsupported dtype {element!r}; convert it with .float()")
    if not element.is_inexact:
        element = get_default_dtype()
    return self.to(element.to_complex() if complex_too else element)


def expect_real(self: Any, name: str) -> None:
    """Refuse a complex signal where the transform is of real ones."""
    if self._spec.dtype.is_complex:
        raise Mismatch(f"{name} expects a real input tensor, but got {self._spec.dtype!r}")


def one_dim(self: Any, dim: int) -> int:
    """The dimension to transform, from the front."""
    if not self._spec.ndim:
        raise Mismatch(f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
    return wrap_dim(dim, self._spec.ndim)


def expect_points(size: int) -> None:
    """Refuse a transform of nothing."""
    if size < 1:
        raise Mismatch(f"Invalid number of data points ({size}) specified")


def resized(self: Any, dims: Sequence[int], sizes: Sequence[int]) -> Any:
    """`self` cut off, or filled up with zeros, at the end of dimensions."""
    shape = self._spec.shape
    padding = [0] * (2 * len(shape))
    for dim, size in zip(dims, sizes, strict=True):
        expect_points(size)
        if size < shape[dim]:
            self = t.narrow(self, dim, 0, size)
        elif size > shape[dim]:
            padding[2 * (len(shape) - 1 - dim) + 1] = size - shape[dim]
    return t.constant_pad_nd(self, padding) if any(padding) else self


def many_dims(self: Any, s: Any, dim: Any) -> tuple[list[int], list[int]]:
    """The dimensions to transform, from the front, and their sizes (-1: as they are)."""
    shape = self._spec.shape
    ndim = len(shape)
    dims = None
    if dim is not None:
        dims = [one_dim(self, each) for each in dim] if ndim or not dim else None
        if dims is None:
            raise Mismatch(
                f"Dimension specified as {dim[0]} but tensor has no dimensions", IndexError
            )
        if len(set(dims)) != len(dims):
            raise Mismatch(f"FFT dims must be unique, got {list(dim)}")
    if s is None:
        dims = list(range(ndim)) if dims is None else dims
        return dims, [shape[each] for each in dims]
    if dims is None:
        if len(s) > ndim:
            raise Mismatch(
                f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions."
            )
        dims = list(range(ndim - len(s), ndim))
    if len(s) != len(dims):
        raise Mismatch(
            "When given, dim and shape arguments must have the same length, got "
            f"{len(dims)} and {len(s)}"
        )
    sizes = [shape[each] if size == -1 else size for each, size in zip(dims, s, strict=True)]
    for size in sizes:
        expect_points(size)
    return dims, sizes


def expect_axis(dims: Sequence[int], name: str) -> None:
    """Refuse to transform no dimension where one is special."""
    if not dims:
        raise Mismatch(f"{name} must transform at least one axis")
