"""NumPy rules of max pooling: given, adaptive and fractional windows, and unpooling."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.pool_average import adaptive_bounds
from thunk.backends.reference.pool_windows import add_to_planes, largest_in_windows
from thunk.ops.pool.geometry import pooling
from thunk.types.spec import TensorSpec


def _shaped(specs: Any, pictures: Any, places: Sequence[Any]) -> tuple[Any, Any]:
    values, indices = largest_in_windows(pictures, places)
    return values.reshape(specs[0].shape), indices.reshape(specs[1].shape)


def _window_places(start: Any, kernel: int, gap: int, size: int) -> tuple[Any, Any]:
    """Indices of each window's elements, and which windows hold none.

    What would lie outside is replaced by the nearest element of the window inside, which changes
    neither its largest element nor the order of its elements.
    """
    first = start + (numpy.maximum(-start, 0) + gap - 1) // gap * gap
    last = start + (size - 1 - start) // gap * gap
    places = start[:, None] + numpy.arange(kernel) * gap
    inside = numpy.clip(places, first[:, None], last[:, None])
    return numpy.clip(inside, 0, size - 1), first > last


def _lowest(dtype: Any) -> Any:
    return -numpy.inf if dtype.kind == "f" else numpy.iinfo(dtype).min


def _max_pool(
    dims: int, specs: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> Any:  # fmt: skip
    windows = pooling(dims, kernel_size, stride, padding, dilation, ceil_mode)
    places, empty = [], []
    for d, (n, count) in enumerate(zip(self.shape[-dims:], specs[0].shape[-dims:])):
        start = numpy.arange(count) * windows.stride[d] - windows.padding[d]
        index, nothing = _window_places(start, windows.kernel[d], windows.dilation[d], n)
        places.append(index)
        empty.append(nothing)
    values, indices = _shaped(specs, self, places)
    if any(each.any() for each in empty):
        outside = functools.reduce(numpy.logical_or.outer, empty)
        values = numpy.where(outside, values.dtype.type(_lowest(values.dtype)), values)
    return values, indices


def _adaptive_places(size: int, count: int) -> Any:
    begin, end = adaptive_bounds(size, count)
    longest = int((end - begin).max(initial=0))
    return numpy.minimum(begin[:, None] + numpy.arange(longest), end[:, None] - 1)


def _random_places(sample: Any, size: int, count: int, kernel: int) -> Any:
    """Where each plane's windows lie along one dimension, (planes, count, kernel)."""
    start = numpy.full((len(sample), count), size - kernel, numpy.int64)
    if count > 1:
        alpha = sample.dtype.type(size - kernel) / sample.dtype.type(count - 1)
        steps = numpy.arange(count - 1).astype(sample.dtype)
        at = ((steps + sample[:, None]) * alpha).astype(numpy.int64)
        start[:, :-1] = at - (sample * alpha).astype(numpy.int64)[:, None]
    return start[..., None] + numpy.arange(kernel)


def _fractional(
    dims: int, specs: Any, self: Any, kernel_size: Any, output_size: Any, samples: Any
) -> Any:
    kernel, count = ([*each] * (dims // len(each)) for each in (kernel_size, output_size))
    planes = math.prod(self.shape[:-dims])
    numbers = samples.reshape(math.prod(samples.shape[:2]), dims)[:planes]
    if dims == 2:
        numbers = numbers[:, ::-1]  # pictures take their first number for the width
    places = [
        _random_places(numbers[:, d], self.shape[d - dims], count[d], kernel[d])
        for d in range(dims)
    ]
    return _shaped(specs, self, places)


def _register(dims: int) -> None:
    @rule(f"max_pool{dims}d_with_indices", half="float32")
    def max_pool(specs: Any, self: Any, *arguments: Any) -> Any:
        return _max_pool(dims, specs, self, *arguments)

    @rule(f"adaptive_max_pool{dims}d", half="float32")
    def adaptive_max_pool(specs: Any, self: Any, output_size: Any) -> Any:
        sizes = zip(self.shape[-dims:], output_size)
        return _shaped(specs, self, [_adaptive_places(*each) for each in sizes])

    @rule(f"fractional_max_pool{dims}d", half="float32")
    def fractional_max_pool(specs: Any, *arguments: Any) -> Any:
        return _fractional(dims, specs, *arguments)

    @rule(
        f"max_pool{dims}d_with_indices_backward",
        f"adaptive_max_pool{dims}d_backward",
        f"fractional_max_pool{dims}d_backward",
        half="float32",
    )
    def backward(spec: TensorSpec, grad_output: Any, *arguments: Any) -> Any:
        return add_to_planes(grad_output, arguments[-1], spec.shape, dims)

    @rule(f"max_unpool{dims}d")
    def max_unpool(spec: TensorSpec, self: Any, indices: Any, *arguments: Any) -> Any:
        return _unpooled(spec, self, indices, dims)


def _unpooled(spec: TensorSpec, values: Any, indices: Any, dims: int) -> Any:
    planes, size = math.prod(spec.shape[:-dims]), math.prod(spec.shape[-dims:])
    result = numpy.zeros((planes, size), values.dtype)
    places = indices.reshape(planes, math.prod(indices.shape[-dims:]))
    wrong = (places < 0) | (places >= size)
    if wrong.any():
        raise RuntimeError(
            f"max_unpooling{dims}d: expected indices into planes of size {spec.shape[-dims:]}, got "
            f"{places[wrong][0]}; Found an invalid max index (wrong output_size?)"
        )
    result[numpy.arange(planes)[:, None], places] = values.reshape(places.shape)
    return result.reshape(spec.shape)


for _dims in (2, 3):
    _register(_dims)
