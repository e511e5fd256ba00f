"""NumPy rules of the operators that make tensors."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import convert, rule
from thunk.types.spec import TensorSpec


@rule("zeros")
def zeros(spec: TensorSpec, *rest: Any) -> Any:
    return numpy.zeros(spec.shape, spec.dtype.numpy)


@rule("ones")
def ones(spec: TensorSpec, *rest: Any) -> Any:
    return numpy.ones(spec.shape, spec.dtype.numpy)


@rule("empty.memory_format", "empty_strided")
def empty(spec: TensorSpec, *rest: Any) -> Any:
    return numpy.empty(spec.shape, spec.dtype.numpy)


@rule("full")
def full(spec: TensorSpec, size: Any, fill_value: Any, *rest: Any) -> Any:
    result = numpy.empty(spec.shape, spec.dtype.numpy)
    result[...] = convert(numpy.asarray(fill_value), spec.dtype.numpy)
    return result


@rule("scalar_tensor")
def scalar_tensor(spec: TensorSpec, s: Any, *rest: Any) -> Any:
    return convert(numpy.asarray(s), spec.dtype.numpy)


@rule("arange")
def arange(spec: TensorSpec, end: Any, *rest: Any) -> Any:
    return arange_step(spec, 0, end, 1)


@rule("arange.start", "range")
def arange_start(spec: TensorSpec, start: Any, end: Any, *rest: Any) -> Any:
    return arange_step(spec, start, end, 1)


@rule("arange.start_step", "range.step")
def arange_step(spec: TensorSpec, start: Any, end: Any, step: Any, *rest: Any) -> Any:
    places = numpy.arange(spec.shape[0])
    if spec.dtype.is_inexact:
        return (start + places.astype(numpy.float64) * step).astype(spec.dtype.numpy)
    # PyTorch converts the bounds first: integers step by whole numbers.
    return (int(start) + places * int(step)).astype(spec.dtype.numpy)


def _even_steps(start: Any, end: Any, steps: int, working: Any) -> Any:
    """Each half counts from its own end, so both ends are exact."""
    if steps == 0:
        return numpy.empty(0, working)
    first, last = working(start), working(end)
    if steps == 1:
        return numpy.array([first])
    step = (last - first) / working(steps - 1)
    places = numpy.arange(steps)
    upper = last - step * (steps - 1 - places).astype(working)
    return numpy.where(places < steps // 2, first + step * places.astype(working), upper)


@rule("linspace")
def linspace(spec: TensorSpec, start: Any, end: Any, steps: int, *rest: Any) -> Any:
    if spec.dtype.is_inexact:
        working = numpy.complex128 if spec.dtype.is_complex else numpy.float64
        return _even_steps(start, end, steps, working)
    return _even_steps(int(start), int(end), steps, numpy.float64)


@rule("logspace")
def logspace(spec: TensorSpec, start: Any, end: Any, steps: int, base: float, *rest: Any) -> Any:
    exponents = linspace(spec, start, end, steps)
    return numpy.power(exponents.dtype.type(base), exponents)


@rule("eye")
def eye(spec: TensorSpec, *rest: Any) -> Any:
    return numpy.eye(*spec.shape, dtype=spec.dtype.numpy)


@rule("eye.m")
def eye_m(spec: TensorSpec, *rest: Any) -> Any:
    return numpy.eye(*spec.shape, dtype=spec.dtype.numpy)


@rule("tril_indices")
def tril_indices(spec: TensorSpec, row: int, col: int, offset: int, *rest: Any) -> Any:
    return numpy.stack(numpy.tril_indices(row, offset, col))


@rule("triu_indices")
def triu_indices(spec: TensorSpec, row: int, col: int, offset: int, *rest: Any) -> Any:
    return numpy.stack(numpy.triu_indices(row, offset, col))


def _places(length: int, periodic: bool) -> Any:
    """Places from 0 to 1; a periodic window leaves the last one to the next period."""
    return numpy.arange(length) / (length if periodic else length - 1)


@rule("hamming_window.periodic_alpha_beta")
def hamming_window(
    spec: TensorSpec, length: int, periodic: bool, alpha: float, beta: float, *rest: Any
) -> Any:
    if length <= 1:
        return numpy.ones(length)
    return alpha - beta * numpy.cos(2 * numpy.pi * _places(length, periodic))


@rule("bartlett_window.periodic")
def bartlett_window(spec: TensorSpec, length: int, periodic: bool, *rest: Any) -> Any:
    if length <= 1:
        return numpy.ones(length)
    return 1 - numpy.abs(2 * _places(length, periodic) - 1)


@rule("blackman_window.periodic")
def blackman_window(spec: TensorSpec, length: int, periodic: bool, *rest: Any) -> Any:
    if length <= 1:
        return numpy.ones(length)
    angle = 2 * numpy.pi * _places(length, periodic)
    return 0.42 - 0.5 * numpy.cos(angle) + 0.08 * numpy.cos(2 * angle)


@rule("kaiser_window.beta")
def kaiser_window(
    spec: TensorSpec, length: int, periodic: bool, beta: float, *rest: Any
) -> Any:  # fmt: skip
    if length <= 1:
        return numpy.ones(length)
    bulge = numpy.sqrt(numpy.maximum(1 - (2 * _places(length, periodic) - 1) ** 2, 0))
    return numpy.i0(beta * bulge) / numpy.i0(numpy.float64(beta))
