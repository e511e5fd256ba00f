"""Average pooling: the mean of each window.

Enters: pictures. Leaves: the sums of their windows, each divided by one number. Invariant: the
operator and its backward are linear and each other's adjoint.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.pool.geometry import Pooling, check_gradient, pooled_shape, pooling
from thunk.ops.registry import t
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, picture_spec
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec

_FLAGS = "bool ceil_mode{0}, bool count_include_pad{1}, int? divisor_override{2}"


def _checked(
    self: TensorSpec, dims: int, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    divisor_override: int | None,
) -> Pooling:  # fmt: skip
    if divisor_override == 0:
        raise Mismatch("divisor must be not zero")
    places = pooling(dims, kernel_size, stride, padding, (1,), ceil_mode)
    check_dtype(self, FLOATING_ONLY, int64)
    if dims == 3 and any(n < k for n, k in zip(self.shape[-3:], places.kernel)):
        raise Mismatch(f"input image {self.shape[-3:]} smaller than kernel size {places.kernel}")
    return places


def _average(dims: int) -> Any:
    def spec(
        self: TensorSpec, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
        count_include_pad: bool, divisor_override: int | None,
    ) -> TensorSpec:  # fmt: skip
        places = _checked(
            self, dims, kernel_size, stride, padding, ceil_mode, divisor_override
        )
        shape = pooled_shape(self, dims, places)
        return picture_spec(self, shape, channels_last=None if dims == 2 else False)

    return spec


def _backward(dims: int) -> Any:
    def spec(
        grad_output: TensorSpec, self: TensorSpec, kernel_size: Any, stride: Any, padding: Any,
        ceil_mode: bool, count_include_pad: bool, divisor_override: int | None,
    ) -> TensorSpec:  # fmt: skip
        places = _checked(
            self, dims, kernel_size, stride, padding, ceil_mode, divisor_override
        )
        check_gradient("grad_output", grad_output, pooled_shape(self, dims, places))
        last = None if dims == 2 else False
        return picture_spec(self, self.shape, grad_output.dtype, channels_last=last)

    return spec


def _vjp(dims: int) -> Any:
    def formula(
        grad: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
        count_include_pad: bool, divisor_override: int | None,
    ) -> Any:  # fmt: skip
        operator = getattr(t, f"avg_pool{dims}d_backward")
        return operator(
            grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
            divisor_override,
        )  # fmt: skip

    return formula


def _backward_vjp(dims: int) -> Any:
    def formula(
        grad: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
        count_include_pad: bool, divisor_override: int | None,
    ) -> Any:  # fmt: skip
        operator = getattr(t, f"avg_pool{dims}d")
        return operator(
            grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )

    return formula


def _declare_average(dims: int) -> None:
    ints = f"int[{dims}]"
    declare(
        f"avg_pool{dims}d(Tensor self, {ints} kernel_size, {ints} stride=[], {ints} padding=0, "
        f"{_FLAGS.format('=False', '=True', '=None')}) -> Tensor",
        doc="The mean of each window.",
        spec=_average(dims),
        vjp={"self": _vjp(dims)},
        variants="function out",
        module="nn",
        autocast="float32" if dims == 3 else "",
    )
    declare(
        f"avg_pool{dims}d_backward(Tensor grad_output, Tensor self, {ints} kernel_size, "
        f"{ints} stride, {ints} padding, {_FLAGS.format('', '', '')}) -> Tensor",
        doc=f"The gradient of `avg_pool{dims}d`: every element gives its windows' shares back.",
        spec=_backward(dims),
        vjp={"grad_output": _backward_vjp(dims), "self": lambda: None},
        variants="",
    )


def _avg_pool1d(
    self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool,
) -> Any:  # fmt: skip
    if self.ndim not in (2, 3):
        raise Mismatch(f"Expected 2D or 3D (batch mode) input, but got: {list(self.shape)}")
    for name, values in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding)):
        if len(values) != 1 and (values or name != "stride"):
            raise Mismatch(f"expected one number as {name}, got {list(values)}")
    places = pooling(1, kernel_size, stride, padding, (1,), ceil_mode)
    result = t.avg_pool2d(
        self.unsqueeze(-2), (1, *places.kernel), (1, *places.stride), (0, *places.padding),
        ceil_mode, count_include_pad,
    )  # fmt: skip
    return result.squeeze(-2)


for _dims in (2, 3):
    _declare_average(_dims)
declare(
    "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "
    "bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
    doc="The mean of each window.",
    decompose=_avg_pool1d,
    variants="function",
)
