"""NumPy rules of dropout, on PyTorch's generator."""

from __future__ import annotations

import math
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.runtime import random


@rule("native_dropout", half="float32")
def native_dropout(spec: Any, input: Any, p: float, train: bool | None) -> Any:
    shape = input.shape
    if train is False or p == 0 or not input.size:
        return input.copy(), numpy.ones(shape, bool)
    order = random.fill_order(shape, spec[1].strides)
    count = (math.prod(shape),)
    kept = random.bernoulli(random.default_generator, count, numpy.bool_, 1 - p)
    mask = random.arrange(kept, shape, order)
    kind = input.real.dtype.type
    scale = kind(0) if p == 1 else kind(1) / kind(1 - p)
    return input * (mask * scale), mask


@rule("native_dropout_backward", half="float32")
def native_dropout_backward(spec: Any, grad_output: Any, mask: Any, scale: float) -> Any:
    return grad_output * (mask * grad_output.real.dtype.type(scale))
