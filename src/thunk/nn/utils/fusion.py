"""Enters: a convolution or linear layer and the batch norm behind it. Leaves: one layer for both.

Invariant: in evaluation mode the fused layer computes what the two did; the originals are kept.
"""

from __future__ import annotations

import copy
from typing import Any

from thunk.nn.parameter import Parameter
from thunk.ops.registry import t


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that includes the batch norm behind it."""
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
        transpose,
    )  # fmt: skip
    return fused


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any,
    transpose: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Weight and bias of a convolution that includes the batch norm behind it."""
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that includes the batch norm behind it."""
    _check(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Any, Any]:
    """Weight and bias of a linear layer that includes the batch norm behind it."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _fused(
    weight: Any, bias: Any, mean: Any, variance: Any, eps: float, scale: Any, shift: Any,
    shape: list[int],
) -> tuple[Any, Any]:  # fmt: skip
    """Scale the outputs as the norm would; `shape` lays its channels along the weight's."""
    factor = t.rsqrt(variance + eps)
    factor = factor if scale is None else scale * factor
    start = t.zeros_like(mean) if bias is None else bias
    moved = (start - mean) * factor
    moved = moved if shift is None else moved + shift
    fused_weight = (weight * factor.reshape(shape)).to(dtype=weight.dtype)
    fused_bias = moved.to(dtype=weight.dtype if bias is None else bias.dtype)
    asks_grad = bias is not None and bias.requires_grad
    return Parameter(fused_weight, weight.requires_grad), Parameter(fused_bias, asks_grad)


def _check(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
