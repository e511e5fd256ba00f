"""NumPy rules of random numbers that a counter makes."""

from __future__ import annotations

import math
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.runtime.random import philox
from thunk.types.spec import TensorSpec


def _drawn(shape: tuple[int, ...], p: float, seed: int, offset: int) -> Any:
    return philox.bernoulli(seed, offset, p, math.prod(shape)).reshape(shape)


@rule("_counter_bernoulli")
def counter_bernoulli(spec: TensorSpec, self: Any, p: float, seed: int, offset: int) -> Any:
    return _drawn(spec.shape, p, seed, offset)


@rule("_counter_uniform")
def counter_uniform(spec: TensorSpec, self: Any, seed: int, offset: int) -> Any:
    double = spec.dtype.itemsize == 8
    draw = philox.uniform_double if double else philox.uniform_single
    return draw(seed, offset, spec.numel).reshape(spec.shape)


@rule("_counter_normal")
def counter_normal(spec: TensorSpec, self: Any, seed: int, offset: int) -> Any:
    double = spec.dtype.itemsize == 8
    draw = philox.normal_double if double else philox.normal_single
    return draw(seed, offset, spec.numel).reshape(spec.shape)


@rule("_counter_dropout", half="float32")
def counter_dropout(spec: Any, input: Any, p: float, seed: int, offset: int) -> Any:
    mask = _drawn(input.shape, 1 - p, seed, offset)
    kind = input.dtype.type
    scale = kind(0) if p == 1 else kind(1 / (1 - p))
    return numpy.where(mask, input * scale, input * kind(0)), mask
