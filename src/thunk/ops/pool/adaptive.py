"""Adaptive pooling: the result's size is given, the windows follow from it.

Enters: pictures and a size. Leaves: the mean or the largest element of each window. Invariant:
windows cover the picture, and neighbours overlap by one element where the size does not divide it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.pool.geometry import check_picture, take_from_planes
from thunk.ops.registry import t
from thunk.ops.rules.spatial import FLOATING_ONLY, INEXACT, check_dtype, picture_spec
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec


def _shape(
    self: TensorSpec, output_size: Sequence[int], dims: int, *, empty_channels: bool
) -> tuple[int, ...]:
    if len(output_size) != dims:
        raise Mismatch(f"output_size must have {dims} elements, got {list(output_size)}")
    check_picture(self, dims, empty_channels=empty_channels)
    if min(output_size) < 0:
        raise Mismatch(
            f"elements of output_size must be greater than or equal to 0, got {list(output_size)}"
        )
    return (*self.shape[:-dims], *output_size)


def _average(dims: int) -> Any:
    def spec(self: TensorSpec, output_size: Any) -> TensorSpec:
        shape = _shape(self, output_size, dims, empty_channels=True)
        check_dtype(self, INEXACT)
        # A volume keeps its format only on the way that PyTorch takes for the global mean.
        keeps = None if dims == 2 or set(output_size) == {1} else False
        return picture_spec(self, shape, channels_last=keeps)

    return spec


def _average_backward(dims: int) -> Any:
    def spec(grad_output: TensorSpec, self: TensorSpec) -> TensorSpec:
        _check_gradient(grad_output, self, dims)
        last = None if dims == 2 else False
        return picture_spec(self, self.shape, grad_output.dtype, channels_last=last)

    return spec


def _check_gradient(grad_output: TensorSpec, self: TensorSpec, dims: int) -> None:
    if grad_output.shape[:-dims] != self.shape[:-dims] or grad_output.ndim != self.ndim:
        raise Mismatch(
            f"expected grad_output with the planes of {list(self.shape)}, "
            f"got {list(grad_output.shape)}"
        )
    if 0 in grad_output.shape[-dims:]:
        raise Mismatch(
            "Expected grad_output to have non-zero size for non-batch dimensions, but grad_output "
            f"has sizes {list(grad_output.shape)}"
        )


def _largest(dims: int) -> Any:
    def spec(self: TensorSpec, output_size: Any) -> tuple[TensorSpec, TensorSpec]:
        shape = _shape(self, output_size, dims, empty_channels=False)
        check_dtype(self, FLOATING_ONLY)
        last = None if dims == 2 else False
        return (
            picture_spec(self, shape, channels_last=last),
            picture_spec(self, shape, int64, channels_last=last),
        )

    return spec


def _largest_backward(dims: int) -> Any:
    def spec(grad_output: TensorSpec, self: TensorSpec, indices: TensorSpec) -> TensorSpec:
        _check_gradient(grad_output, self, dims)
        last = None if dims == 2 else False
        return picture_spec(self, self.shape, grad_output.dtype, channels_last=last)

    return spec


def _average_vjp(dims: int) -> Any:
    def formula(grad: Any, self: Any) -> Any:
        return getattr(t, f"_adaptive_avg_pool{dims}d_backward")(grad, self)

    return formula


def _average_backward_vjp(dims: int) -> Any:
    def formula(grad: Any, grad_output_spec: TensorSpec) -> Any:
        return getattr(t, f"adaptive_avg_pool{dims}d")(grad, grad_output_spec.shape[-dims:])

    return formula


def _largest_vjp(dims: int) -> Any:
    def formula(grad: Any, self: Any, result1: Any) -> Any:
        return getattr(t, f"adaptive_max_pool{dims}d_backward")(grad, self, result1)

    return formula


def _declare_adaptive(dims: int) -> None:
    declare(
        f"adaptive_avg_pool{dims}d(Tensor self, SymInt[{dims}] output_size) -> Tensor",
        doc="The mean of each of as many windows as the result has elements.",
        spec=_average(dims),
        vjp={"self": _average_vjp(dims)},
        variants="function out",
        module="nn",
        autocast="float32" if dims == 3 else "",
    )
    declare(
        f"_adaptive_avg_pool{dims}d_backward(Tensor grad_output, Tensor self) -> Tensor",
        doc=f"The gradient of `adaptive_avg_pool{dims}d`.",
        spec=_average_backward(dims),
        vjp={"grad_output": _average_backward_vjp(dims), "self": lambda: None},
        variants="",
    )
    declare(
        f"adaptive_max_pool{dims}d(Tensor self, int[{dims}] output_size) -> (Tensor, Tensor)",
        doc="The largest element of each window and its flat index in the plane.",
        spec=_largest(dims),
        vjp={"self": _largest_vjp(dims)},
        variants="function out",
        module="nn",
        autocast="float32" if dims == 3 else "",
    )
    declare(
        f"adaptive_max_pool{dims}d_backward(Tensor grad_output, Tensor self, Tensor indices)"
        " -> Tensor",
        doc=f"The gradient of `adaptive_max_pool{dims}d`.",
        spec=_largest_backward(dims),
        vjp={
            "grad_output": lambda grad, indices: take_from_planes(grad, indices, dims),
            "self": lambda: None,
        },
        variants="",
    )


def _as_rows(self: Any, output_size: Any) -> tuple[Any, tuple[int, int]]:
    """One-dimensional pictures as rows of two-dimensional ones."""
    if self.ndim not in (2, 3):
        raise Mismatch(f"Expected 2D or 3D (batch mode) input, but got: {list(self.shape)}")
    if len(output_size) != 1:
        raise Mismatch(f"expected one number as output_size, got {list(output_size)}")
    return self.unsqueeze(-2), (1, output_size[0])


def _adaptive_avg_pool1d(self: Any, output_size: Any) -> Any:
    return t.adaptive_avg_pool2d(*_as_rows(self, output_size)).squeeze(-2)


def _adaptive_max_pool1d(self: Any, output_size: Any) -> Any:
    values, indices = t.adaptive_max_pool2d(*_as_rows(self, output_size))
    return values.squeeze(-2), indices.squeeze(-2)


for _dims in (2, 3):
    _declare_adaptive(_dims)
declare(
    "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
    doc="The mean of each of as many windows as the result has elements.",
    decompose=_adaptive_avg_pool1d,
    variants="function",
)
declare(
    "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
    doc="The largest element of each window and its index.",
    decompose=_adaptive_max_pool1d,
    variants="function",
)
