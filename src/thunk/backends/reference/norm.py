"""NumPy rules of normalisation and its gradients.

Invariant: statistics and results are computed in double precision, whatever the operands' dtype.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec

Axes = tuple[int, ...]


def _wide(array: Any) -> Any:
    return None if array is None else array.astype(numpy.float64)


def _average(array: Any, over: Axes) -> Any:
    """The mean over axes, kept as ones; NaN where there is nothing to average."""
    count = math.prod(array.shape[axis] for axis in over)
    return numpy.divide(array.sum(over, keepdims=True), float(count))


def _moments(array: Any, over: Axes) -> tuple[Any, Any]:
    mean = _average(array, over)
    return mean, _average(numpy.square(array - mean), over)


def _affine(output: Any, weight: Any, bias: Any) -> Any:
    if weight is not None:
        output = output * weight
    return output if bias is None else output + bias


def _to_input(weighed: Any, output: Any, rstd: Any, over: Axes, centred: bool = True) -> Any:
    """The gradient of the input, from that of the normalised output."""
    rest = weighed - output * _average(weighed * output, over)
    if centred:
        rest = rest - _average(weighed, over)
    return rest * rstd


# --- layers ---------------------------------------------------------------------------------------


def _rows(array: Any, shape: Any) -> Any:
    count = math.prod(array.shape[: array.ndim - len(shape)])
    return _wide(array).reshape(count, math.prod(shape))


def _row_vector(array: Any) -> Any:
    return None if array is None else _wide(array).reshape(1, -1)


@rule("native_layer_norm", half="float32")
def layer_norm(
    spec: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float
) -> Any:
    rows = _rows(input, normalized_shape)
    mean, variance = _moments(rows, (1,))
    rstd = 1 / numpy.sqrt(variance + eps)
    output = _affine((rows - mean) * rstd, _row_vector(weight), _row_vector(bias))
    kept = spec[1].shape
    return output.reshape(input.shape), mean.reshape(kept), rstd.reshape(kept)


@rule("native_layer_norm_backward", half="float32")
def layer_norm_backward(
    spec: Any, grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any,
    weight: Any, bias: Any, output_mask: Any,
) -> Any:  # fmt: skip
    grad, rows = _rows(grad_out, normalized_shape), _rows(input, normalized_shape)
    scale = _wide(rstd).reshape(-1, 1)
    output = (rows - _wide(mean).reshape(-1, 1)) * scale
    results: list[Any] = [None, None, None]
    if output_mask[0]:
        weighed = _affine(grad, _row_vector(weight), None)
        results[0] = _to_input(weighed, output, scale, (1,)).reshape(input.shape)
    if output_mask[1]:
        results[1] = (grad * output).sum(0).reshape(normalized_shape)
    if output_mask[2]:
        results[2] = grad.sum(0).reshape(normalized_shape)
    return tuple(results)


@rule("_fused_rms_norm", half="float32")
def rms_norm(spec: Any, input: Any, normalized_shape: Any, weight: Any, eps: float | None) -> Any:
    rows = _rows(input, normalized_shape)
    step = numpy.finfo(input.dtype).eps if eps is None else eps
    rstd = 1 / numpy.sqrt(_average(numpy.square(rows), (1,)) + step)
    output = _affine(rows * rstd, _row_vector(weight), None)
    return output.reshape(input.shape), rstd.reshape(spec[1].shape)


@rule("_fused_rms_norm_backward", half="float32")
def rms_norm_backward(
    spec: Any, grad_out: Any, input: Any, normalized_shape: Any, rstd: Any, weight: Any,
    output_mask: Any,
) -> Any:  # fmt: skip
    grad, rows = _rows(grad_out, normalized_shape), _rows(input, normalized_shape)
    scale = _wide(rstd).reshape(-1, 1)
    output = rows * scale
    results: list[Any] = [None, None]
    if output_mask[0]:
        weighed = _affine(grad, _row_vector(weight), None)
        moved = _to_input(weighed, output, scale, (1,), centred=False)
        results[0] = moved.reshape(input.shape)
    if output_mask[1]:
        results[1] = (grad * output).sum(0).reshape(normalized_shape)
    return tuple(results)


# --- groups ---------------------------------------------------------------------------------------


def _per_channel(array: Any, group: int) -> Any:
    return None if array is None else _wide(array).reshape(1, group, -1, 1)


@rule("native_group_norm", half="float32")
def group_norm(
    spec: Any, input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int,
    eps: float,
) -> Any:  # fmt: skip
    groups = _wide(input).reshape(N, group, C // group, HxW)
    mean, variance = _moments(groups, (2, 3))
    rstd = 1 / numpy.sqrt(variance + eps)
    output = (groups - mean) * rstd
    output = _affine(output, _per_channel(weight, group), _per_channel(bias, group))
    return output.reshape(input.shape), mean.reshape(N, group), rstd.reshape(N, group)


@rule("native_group_norm_backward", half="float32")
def group_norm_backward(
    spec: Any, grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int,
    HxW: int, group: int, output_mask: Any,
) -> Any:  # fmt: skip
    shape = (N, group, C // group, HxW)
    grad = _wide(grad_out).reshape(shape)
    scale = _wide(rstd).reshape(N, group, 1, 1)
    output = (_wide(input).reshape(shape) - _wide(mean).reshape(N, group, 1, 1)) * scale
    results: list[Any] = [None, None, None]
    if output_mask[0]:
        weighed = _affine(grad, _per_channel(weight, group), None)
        results[0] = _to_input(weighed, output, scale, (2, 3)).reshape(input.shape)
    if output_mask[1]:
        results[1] = (grad * output).sum((0, 3)).reshape(C)
    if output_mask[2]:
        results[2] = grad.sum((0, 3)).reshape(C)
    return tuple(results)


# --- batches --------------------------------------------------------------------------------------


def _channel_layout(array: Any) -> tuple[Axes, Axes]:
    """Which axes a channel's statistics cover, and the shape of one element a channel."""
    over = (0, *range(2, array.ndim))
    return over, (1, array.shape[1]) + (1,) * (array.ndim - 2)


def _shaped(array: Any, shape: Axes) -> Any:
    return None if array is None else _wide(array).reshape(shape)


@rule("_native_batch_norm_legit_functional", half="float32")
def batch_norm(
    spec: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
    training: bool, momentum: float, eps: float,
) -> Any:  # fmt: skip
    over, shape = _channel_layout(input)
    wide = _wide(input)
    if training:
        mean, variance = _moments(wide, over)
    else:
        mean, variance = _shaped(running_mean, shape), _shaped(running_var, shape)
    rstd = 1 / numpy.sqrt(variance + eps)
    output = _affine((wide - mean) * rstd, _shaped(weight, shape), _shaped(bias, shape))
    count = math.prod(input.shape[axis] for axis in over)
    # The running variance is that of the population: the batch's, corrected for its size.
    unbiased = variance * numpy.divide(float(count), float(count - 1))
    moved = (
        _blend(spec[3], running_mean, mean, momentum),
        _blend(spec[4], running_var, unbiased, momentum),
    )
    return output, mean.reshape(-1), rstd.reshape(-1), *moved


def _blend(spec: TensorSpec | None, running: Any, new: Any, momentum: float) -> Any:
    if spec is None:
        return None
    return momentum * new.reshape(-1) + (1 - momentum) * _wide(running)


@rule("native_batch_norm_backward", half="float32")
def batch_norm_backward(
    spec: Any, grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any,
    save_mean: Any, save_invstd: Any, train: bool, eps: float, output_mask: Any,
) -> Any:  # fmt: skip
    over, shape = _channel_layout(input)
    if not train and running_mean is not None:
        mean, rstd = _shaped(running_mean, shape), 1 / numpy.sqrt(_shaped(running_var, shape) + eps)
    else:
        mean, rstd = _shaped(save_mean, shape), _shaped(save_invstd, shape)
    grad = _wide(grad_out)
    output = (_wide(input) - mean) * rstd
    results: list[Any] = [None, None, None]
    if output_mask[0]:
        weighed = _affine(grad, _shaped(weight, shape), None)
        results[0] = _to_input(weighed, output, rstd, over) if train else weighed * rstd
    if output_mask[1]:
        results[1] = (grad * output).sum(over)
    if output_mask[2]:
        results[2] = grad.sum(over)
    return tuple(results)
