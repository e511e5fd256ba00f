"""Enters: a tensor and a window into its storage. Leaves: what the window shows, or all but that.

Invariant: both are differentiable; a window may read complex numbers as pairs of reals, and back.
"""

from __future__ import annotations

from typing import Any

from thunk.ops.registry import t
from thunk.types.spec import TensorSpec


def read_window(source: Any, window: TensorSpec) -> Any:
    """The values of `source`'s storage in `window`."""
    complex_source, complex_window = source._spec.dtype.is_complex, window.dtype.is_complex
    if complex_source == complex_window:
        return t.as_strided(source, window.shape, window.strides, window.offset)
    if complex_source:
        pairs = t.view_as_real(source)
        return t.as_strided(pairs, window.shape, window.strides, window.offset)
    pairs = _as_pairs(window)
    return t.view_as_complex(t.as_strided(source, pairs.shape, pairs.strides, pairs.offset))


def clear_window(source: Any, window: TensorSpec) -> Any:
    """`source` with zeros in `window`."""
    complex_source, complex_window = source._spec.dtype.is_complex, window.dtype.is_complex
    if complex_source and not complex_window:
        return t.view_as_complex(clear_window(t.view_as_real(source), window))
    if complex_window and not complex_source:
        window = _as_pairs(window)
    zeros = t.zeros(window.shape, dtype=source.dtype, device=source.device)
    return t.as_strided_scatter(source, zeros, window.shape, window.strides, window.offset)


def _as_pairs(window: TensorSpec) -> TensorSpec:
    return TensorSpec(
        (*window.shape, 2), window.dtype.to_real(),
        (*[2 * stride for stride in window.strides], 1), 2 * window.offset, window.device,
    )  # fmt: skip
