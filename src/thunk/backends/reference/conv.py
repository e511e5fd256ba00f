"""NumPy rules of the convolutions: windows laid out as columns, then matrix products.

Enters: pictures (N, C, *size) and weights (O, C / groups, *kernel). Leaves: results and gradients.
Invariant: samples are taken in chunks, so columns never need more than a bounded part of memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.ops.conv.geometry import Windows, windows
from thunk.types.spec import TensorSpec

_MOST_ELEMENTS = 1 << 24  # of one chunk's columns


@dataclass(frozen=True, slots=True)
class Fields:
    """Where the windows of a plain convolution lie: `size` is read, `out` windows a dimension."""

    size: tuple[int, ...]
    out: tuple[int, ...]
    kernel: tuple[int, ...]
    places: Windows

    def padded(self) -> list[int]:
        return [size + 2 * pad for size, pad in zip(self.size, self.places.padding)]

    def inside(self) -> tuple[slice, ...]:
        """Where in a padded picture the picture itself lies."""
        pads = self.places.padding
        return tuple([slice(pad, pad + size) for size, pad in zip(self.size, pads)])

    def chunks(self, count: int, channels: int) -> Iterator[slice]:
        """Slices of `count` samples, each small enough to lay out as columns."""
        each = max(channels * math.prod(self.kernel) * math.prod(self.out), 1)
        step = max(_MOST_ELEMENTS // each, 1)
        return (slice(start, start + step) for start in range(0, count, step))


def columns(pictures: Any, fields: Fields) -> Any:
    """The windows of `pictures` as an array (C, *kernel, N, *out)."""
    count, channels = pictures.shape[:2]
    padded = numpy.zeros((count, channels, *fields.padded()), pictures.dtype)
    padded[(slice(None), slice(None), *fields.inside())] = pictures
    over_n, over_c, *over = padded.strides
    places = fields.places
    view = numpy.lib.stride_tricks.as_strided(
        padded,
        (channels, *fields.kernel, count, *fields.out),
        (
            over_c, *[stride * gap for stride, gap in zip(over, places.dilation)],
            over_n, *[stride * step for stride, step in zip(over, places.stride)],
        ),
        writeable=False,
    )  # fmt: skip
    return numpy.ascontiguousarray(view)


def add_columns(cells: Any, fields: Fields) -> Any:
    """Pictures (N, C, *size) whose elements are the sums of the cells (C, *kernel, N, *out)."""
    channels, count = cells.shape[0], cells.shape[1 + len(fields.kernel)]
    padded = numpy.zeros((channels, count, *fields.padded()), cells.dtype)
    places = fields.places
    for position in numpy.ndindex(*fields.kernel):
        starts = [at * gap for at, gap in zip(position, places.dilation)]
        window = tuple(
            slice(start, start + (out - 1) * step + 1, step)
            for start, out, step in zip(starts, fields.out, places.stride)
        )
        padded[(slice(None), slice(None), *window)] += cells[(slice(None), *position)]
    return padded[(slice(None), slice(None), *fields.inside())].swapaxes(0, 1)


def _by_group(values: Any, groups: int) -> Any:
    """(N, C, *size) as matrices (groups, C / groups, N * size)."""
    channels = values.shape[1]
    return values.swapaxes(0, 1).reshape(groups, channels // groups, -1)


def correlate(pictures: Any, weight: Any, fields: Fields) -> Any:
    """The plain convolution."""
    groups, results = fields.places.groups, weight.shape[0]
    filters = weight.reshape(groups, results // groups, -1)
    out = numpy.empty((len(pictures), results, *fields.out), pictures.dtype)
    for chunk in fields.chunks(len(pictures), pictures.shape[1]):
        part = pictures[chunk]
        cells = columns(part, fields).reshape(groups, filters.shape[2], -1)
        product = numpy.matmul(filters, cells)
        out[chunk] = product.reshape(results, len(part), *fields.out).swapaxes(0, 1)
    return out


def spread(values: Any, weight: Any, fields: Fields) -> Any:
    """The adjoint of `correlate` in its pictures: every value times its filter, added up."""
    groups, results = fields.places.groups, weight.shape[0]
    channels = weight.shape[1] * groups
    filters = weight.reshape(groups, results // groups, -1).swapaxes(1, 2)
    out = numpy.empty((len(values), channels, *fields.size), values.dtype)
    for chunk in fields.chunks(len(values), channels):
        part = values[chunk]
        cells = numpy.matmul(filters, _by_group(part, groups))
        shape = (channels, *fields.kernel, len(part), *fields.out)
        out[chunk] = add_columns(cells.reshape(shape), fields)
    return out


def filter_gradient(pictures: Any, values: Any, fields: Fields) -> Any:
    """The adjoint of `correlate` in its weight."""
    groups = fields.places.groups
    channels, results = pictures.shape[1], values.shape[1]
    inner = channels // groups * math.prod(fields.kernel)
    total = numpy.zeros((groups, results // groups, inner), values.dtype)
    for chunk in fields.chunks(len(pictures), channels):
        cells = columns(pictures[chunk], fields).reshape(groups, inner, -1)
        total += numpy.matmul(_by_group(values[chunk], groups), cells.swapaxes(1, 2))
    return total.reshape(results, channels // groups, *fields.kernel)


def _fields(read: Any, written: Any, weight: Any, arguments: Sequence[Any]) -> Fields:
    """`read` and `written` are the pictures of the plain convolution, or their shapes' owners."""
    kernel = tuple(weight.shape[2:])
    places = windows(len(kernel), *arguments)
    return Fields(tuple(read.shape[2:]), tuple(written.shape[2:]), kernel, places)


@rule("convolution", half="float32")
def convolution(spec: TensorSpec, input: Any, weight: Any, bias: Any, *arguments: Any) -> Any:
    if 0 in spec.shape:
        return numpy.empty(spec.shape, input.dtype)
    transposed = arguments[3]
    if transposed:
        result = spread(input, weight, _fields(spec, input, weight, arguments))
    else:
        result = correlate(input, weight, _fields(input, spec, weight, arguments))
    if bias is not None:
        result += bias.reshape((-1,) + (1,) * (result.ndim - 2))
    return result


@rule("convolution_backward", half="float32")
def convolution_backward(
    specs: Any, grad_output: Any, input: Any, weight: Any, bias_sizes: Any, *arguments: Any
) -> Any:
    *arguments, mask = arguments  # type: ignore[assignment]  # the tail of the schema, as a list
    if grad_output.size == 0:
        return [None if spec is None else numpy.zeros(spec.shape) for spec in specs]
    to_input = to_weight = to_bias = None
    transposed = arguments[3]
    if transposed:
        fields = _fields(grad_output, input, weight, arguments)
        if mask[0]:
            to_input = correlate(grad_output, weight, fields)
        if mask[1]:
            to_weight = filter_gradient(grad_output, input, fields)
    else:
        fields = _fields(input, grad_output, weight, arguments)
        if mask[0]:
            to_input = spread(grad_output, weight, fields)
        if mask[1]:
            to_weight = filter_gradient(input, grad_output, fields)
    if mask[2]:
        to_bias = grad_output.sum((0, *range(2, grad_output.ndim)))
    return [to_input, to_weight, to_bias]
