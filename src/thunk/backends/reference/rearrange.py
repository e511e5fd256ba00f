"""NumPy rules of operators that put elements elsewhere."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


@rule("flip")
def flip(spec: TensorSpec, self: Any, dims: Any) -> Any:
    return numpy.flip(self, dims) if self.ndim else self


@rule("roll")
def roll(spec: TensorSpec, self: Any, shifts: Any, dims: Any) -> Any:
    if not dims:
        return numpy.roll(self, shifts[0])
    return numpy.roll(self, shifts, dims)


@rule("tril")
def tril(spec: TensorSpec, self: Any, diagonal: int) -> Any:
    return numpy.tril(self, _within(diagonal, self))


@rule("triu")
def triu(spec: TensorSpec, self: Any, diagonal: int) -> Any:
    return numpy.triu(self, _within(diagonal, self))


def _within(diagonal: int, matrix: Any) -> int:
    # Beyond the corners nothing changes, and NumPy's own index type is narrower.
    reach: int = max(matrix.shape[-2:]) + 1
    return max(min(diagonal, reach), -reach)


@rule("repeat_interleave.Tensor")
def repeat_interleave(spec: Any, repeats: Any, output_size: int | None) -> Any:
    if repeats.size and repeats.min() < 0:
        raise RuntimeError("repeat_interleave: repeats can not be negative")
    total = int(repeats.sum())
    if output_size not in (None, total):
        raise RuntimeError(
            "repeat_interleave: allocated size does not match required size: expected "
            f"output_size={total}, got {output_size}"
        )
    return numpy.repeat(numpy.arange(repeats.size, dtype=repeats.dtype), repeats)


def _pairs(pad: Any, ndim: int) -> list[tuple[int, int]]:
    found = [(0, 0)] * ndim
    for position in range(len(pad) // 2):
        found[ndim - 1 - position] = (pad[2 * position], pad[2 * position + 1])
    return found


@rule("constant_pad_nd")
def constant_pad_nd(spec: TensorSpec, self: Any, pad: Any, value: Any) -> Any:
    result = numpy.full(spec.shape, numpy.asarray(value).astype(self.dtype))
    inside, source = [], []
    for size, (before, after) in zip(self.shape, _pairs(pad, self.ndim), strict=True):
        source.append(slice(max(-before, 0), max(size - max(-after, 0), 0)))
        start = max(before, 0)
        inside.append(slice(start, start + max(size + min(before, 0) + min(after, 0), 0)))
    result[tuple(inside)] = self[tuple(source)]
    return result


def mirrored(size: int, before: int, after: int) -> Any:
    places = numpy.abs(numpy.arange(-before, size + after))
    return numpy.where(places < size, places, 2 * (size - 1) - places)


def clamped(size: int, before: int, after: int) -> Any:
    return numpy.clip(numpy.arange(-before, size + after), 0, size - 1)


def _pad(places_of: Any, array: Any, padding: Any) -> Any:
    for dim, (before, after) in enumerate(_pairs(padding, array.ndim)):
        if before or after:
            array = array.take(places_of(array.shape[dim], before, after), dim)
    return array


def _unpad(places_of: Any, grad: Any, shape: tuple[int, ...], padding: Any) -> Any:
    for dim, (before, after) in enumerate(_pairs(padding, grad.ndim)):
        if before or after:
            size = shape[dim]
            total = numpy.zeros((*grad.shape[:dim], size, *grad.shape[dim + 1 :]), grad.dtype)
            along = numpy.moveaxis(total, dim, 0)
            numpy.add.at(along, places_of(size, before, after), numpy.moveaxis(grad, dim, 0))
            grad = total
    return grad


_RANKS = (1, 2, 3)


@rule(*[f"reflection_pad{rank}d" for rank in _RANKS])
def reflection_pad(spec: TensorSpec, self: Any, padding: Any) -> Any:
    return _pad(mirrored, self, padding)


@rule(*[f"replication_pad{rank}d" for rank in _RANKS])
def replication_pad(spec: TensorSpec, self: Any, padding: Any) -> Any:
    return _pad(clamped, self, padding)


@rule(*[f"reflection_pad{rank}d_backward" for rank in _RANKS], half="float32")
def reflection_pad_backward(spec: TensorSpec, grad_output: Any, self: Any, padding: Any) -> Any:
    return _unpad(mirrored, grad_output, spec.shape, padding)


@rule(*[f"replication_pad{rank}d_backward" for rank in _RANKS], half="float32")
def replication_pad_backward(spec: TensorSpec, grad_output: Any, self: Any, padding: Any) -> Any:
    return _unpad(clamped, grad_output, spec.shape, padding)
