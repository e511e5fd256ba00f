"""NumPy rules of average pooling, with windows given or following from the result's size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.pool_windows import range_sum, transposed_ranges
from thunk.ops.pool.geometry import pooling
from thunk.types.spec import TensorSpec

Ranges = list[tuple[Any, Any]]  # where windows begin and end, a pair a dimension


def window_sums(values: Any, ranges: Ranges) -> Any:
    """The sum of each window of each plane."""
    for d, (begin, end) in enumerate(ranges):
        values = range_sum(values, d - len(ranges), begin, end)
    return values


def spread_back(values: Any, ranges: Ranges, size: Sequence[int]) -> Any:
    """The adjoint of `window_sums`: each element of planes of `size` sums its windows' values."""
    back = [transposed_ranges(*bounds, n) for bounds, n in zip(ranges, size)]
    return window_sums(values, back)


def _product(lengths: Sequence[Any]) -> Any:
    total: Any = numpy.ones((), numpy.int64)
    for each in lengths:
        total = total[..., None] * each
    return total


def _divided(values: Any, divisor: Any) -> Any:
    if values.dtype.kind in "fc":
        return values / divisor.astype(values.real.dtype)
    # C divides integers towards zero.
    return numpy.sign(values) * numpy.sign(divisor) * (abs(values) // abs(divisor))


def average_windows(
    size: Sequence[int], out: Sequence[int], kernel_size: Any, stride: Any, padding: Any,
    ceil_mode: bool, include_pad: bool, override: int | None,
) -> tuple[Ranges, Any]:  # fmt: skip
    """Where windows lie inside the picture, and what their sums are divided by."""
    places = pooling(len(size), kernel_size, stride, padding, (1,), ceil_mode)
    ranges: Ranges = []
    lengths = []
    for d, (n, count) in enumerate(zip(size, out)):
        begin = numpy.arange(count) * places.stride[d] - places.padding[d]
        end = numpy.minimum(begin + places.kernel[d], n + places.padding[d])
        inside = numpy.maximum(begin, 0), numpy.minimum(end, n)
        ranges.append(inside)
        lengths.append(end - begin if include_pad else inside[1] - inside[0])
    return ranges, _product(lengths) if override is None else numpy.array(override)


def adaptive_windows(size: Sequence[int], out: Sequence[int]) -> tuple[Ranges, Any]:
    ranges = [adaptive_bounds(n, count) for n, count in zip(size, out)]
    return ranges, _product([end - begin for begin, end in ranges])


def adaptive_bounds(size: int, count: int) -> tuple[Any, Any]:
    """Where `count` windows over `size` elements begin and end."""
    index = numpy.arange(count)
    return index * size // max(count, 1), -(-(index + 1) * size // max(count, 1))


def _register(dims: int) -> None:
    @rule(f"avg_pool{dims}d", half="float32")
    def avg_pool(spec: TensorSpec, self: Any, *arguments: Any) -> Any:
        ranges, divisor = average_windows(self.shape[-dims:], spec.shape[-dims:], *arguments)
        return _divided(window_sums(self, ranges), divisor)

    @rule(f"avg_pool{dims}d_backward", half="float32")
    def avg_pool_backward(spec: TensorSpec, grad_output: Any, self: Any, *arguments: Any) -> Any:
        size = self.shape[-dims:]
        ranges, divisor = average_windows(size, grad_output.shape[-dims:], *arguments)
        return spread_back(_divided(grad_output, divisor), ranges, size)

    @rule(f"adaptive_avg_pool{dims}d", half="float32")
    def adaptive_avg_pool(spec: TensorSpec, self: Any, output_size: Any) -> Any:
        ranges, divisor = adaptive_windows(self.shape[-dims:], output_size)
        return _divided(window_sums(self, ranges), divisor)

    @rule(f"_adaptive_avg_pool{dims}d_backward", half="float32")
    def adaptive_avg_pool_backward(spec: TensorSpec, grad_output: Any, self: Any) -> Any:
        size = self.shape[-dims:]
        ranges, divisor = adaptive_windows(size, grad_output.shape[-dims:])
        if not math.prod(grad_output.shape):
            return numpy.zeros(spec.shape, grad_output.dtype)
        return spread_back(_divided(grad_output, divisor), ranges, size)


for _dims in (2, 3):
    _register(_dims)
