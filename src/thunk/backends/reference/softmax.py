"""NumPy rules of softmax, its logarithm and their gradients.

Invariant: sums run along a contiguous last axis, where NumPy adds pairwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


def along_last(function: Callable[..., Any], dim: int, *arrays: Any) -> Any:
    """`function` of the arrays with axis `dim` moved last; its result moved back."""
    if not arrays[0].size:
        return arrays[0]
    if not arrays[0].ndim:
        return function(*[each.reshape(1) for each in arrays]).reshape(())
    moved = [numpy.ascontiguousarray(numpy.moveaxis(each, dim, -1)) for each in arrays]
    return numpy.moveaxis(function(*moved), -1, dim)


def _softmax(self: Any) -> Any:
    powers = numpy.exp(self - self.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _log_softmax(self: Any) -> Any:
    shifted = self - self.max(-1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(-1, keepdims=True))


def _softmax_gradient(grad: Any, output: Any) -> Any:
    weighed = grad * output
    return weighed - output * weighed.sum(-1, keepdims=True)


def _log_softmax_gradient(grad: Any, output: Any) -> Any:
    return grad - numpy.exp(output) * grad.sum(-1, keepdims=True)


@rule("_softmax", half="float32")
def softmax(spec: TensorSpec, self: Any, dim: int, half_to_float: bool) -> Any:
    return along_last(_softmax, dim, self)


@rule("_log_softmax", half="float32")
def log_softmax(spec: TensorSpec, self: Any, dim: int, half_to_float: bool) -> Any:
    return along_last(_log_softmax, dim, self)


@rule("_softmax_backward_data", half="float32")
def softmax_backward(
    spec: TensorSpec, grad_output: Any, output: Any, dim: int, input_dtype: Any
) -> Any:
    return along_last(_softmax_gradient, dim, grad_output, output)


@rule("_log_softmax_backward_data", half="float32")
def log_softmax_backward(
    spec: TensorSpec, grad_output: Any, output: Any, dim: int, input_dtype: Any
) -> Any:
    return along_last(_log_softmax_gradient, dim, grad_output, output)
