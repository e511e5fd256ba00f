"""Fractional max pooling: windows of one size at places that random numbers choose.

Enters: pictures, a result size and a random number a plane and dimension. Leaves: the largest
elements and their flat indices. Invariant: the random numbers are operands: a call is repeatable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.pool.geometry import check_gradient, check_picture, take_from_planes
from thunk.ops.registry import t
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, per_dimension, plain_spec
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec


def _check_samples(self: TensorSpec, samples: TensorSpec, dims: int) -> None:
    if samples.dtype is not self.dtype:
        raise Mismatch(
            f"Expect _random_samples to have the same dtype as input, got {samples.dtype!r}"
        )
    if samples.ndim != 3:
        raise Mismatch(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    batch = self.shape[0] if self.ndim == dims + 2 else 1
    if samples.shape[0] < batch:
        raise Mismatch("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != self.shape[-dims - 1]:
        raise Mismatch("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != dims:
        raise Mismatch(
            f"Expect _random_samples.size(2) equals to {dims}; got {samples.shape[2]}."
        )


def _pooled(dims: int) -> Any:
    def spec(
        self: TensorSpec, kernel_size: Sequence[int], output_size: Sequence[int],
        random_samples: TensorSpec,
    ) -> tuple[TensorSpec, TensorSpec]:  # fmt: skip
        kernel = per_dimension(kernel_size, dims, "kernel_size")
        sizes = per_dimension(output_size, dims, "output_size")
        check_picture(self, dims)
        _check_samples(self, random_samples, dims)
        check_dtype(self, FLOATING_ONLY)
        for have, window, wanted in zip(self.shape[-dims:], kernel, sizes):
            if min(window, wanted) <= 0:
                raise Mismatch(f"expected positive sizes, got kernel {kernel}, output {sizes}")
            # PyTorch wants one element to spare in volumes only.
            if wanted + window - 1 > have - (dims == 3):
                raise Mismatch(
                    f"pool size {window} too large relative to input size {have} and output "
                    f"size {wanted}"
                )
        shape = (*self.shape[:-dims], *sizes)
        return plain_spec(self, shape), plain_spec(self, shape, int64)

    return spec


def _backward(dims: int) -> Any:
    def spec(
        grad_output: TensorSpec, self: TensorSpec, kernel_size: Any, output_size: Any,
        indices: TensorSpec,
    ) -> TensorSpec:  # fmt: skip
        sizes = per_dimension(output_size, dims, "output_size")
        shape = (*self.shape[:-dims], *sizes)
        check_gradient("grad_output", grad_output, shape)
        check_gradient("indices", indices, shape)
        return plain_spec(self, self.shape, grad_output.dtype)

    return spec


def _vjp(dims: int) -> Any:
    def formula(grad: Any, self: Any, kernel_size: Any, output_size: Any, result1: Any) -> Any:
        operator = getattr(t, f"fractional_max_pool{dims}d_backward")
        return operator(grad, self, kernel_size, output_size, result1)

    return formula


def _declare_fractional(dims: int) -> None:
    ints = f"int[{dims}]"
    declare(
        f"fractional_max_pool{dims}d(Tensor self, {ints} kernel_size, {ints} output_size, "
        "Tensor random_samples) -> (Tensor, Tensor)",
        doc="The largest element of each of the windows that random numbers place.",
        spec=_pooled(dims),
        vjp={"self": _vjp(dims), "random_samples": lambda: None},
        variants="function out",
        module="nn",
        autocast="float32",
    )
    declare(
        f"fractional_max_pool{dims}d_backward(Tensor grad_output, Tensor self, "
        f"{ints} kernel_size, {ints} output_size, Tensor indices) -> Tensor",
        doc=f"The gradient of `fractional_max_pool{dims}d`.",
        spec=_backward(dims),
        vjp={
            "grad_output": lambda grad, indices: take_from_planes(grad, indices, dims),
            "self": lambda: None,
        },
        variants="",
    )


for _dims in (2, 3):
    _declare_fractional(_dims)
