"""Max pooling: the largest element of each window, and where in its plane it lies.

Enters: pictures. Leaves: the largest elements and their flat indices. Invariant: of equal elements
the first wins, of several NaN the last, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.pool.geometry import (
    check_gradient,
    pooled_shape,
    pooling,
    take_from_planes,
)
from thunk.ops.registry import t
from thunk.ops.rules.spatial import REAL, check_dtype, picture_spec
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec


def _windows(dims: int, stride: str = "=[]", zero: str = "=0", one: str = "=1") -> str:
    ints = f"int[{dims}]"
    return (
        f"{ints} kernel_size, {ints} stride{stride}, {ints} padding{zero}, {ints} dilation{one}, "
    )


def _with_indices(dims: int) -> Any:
    def spec(
        self: TensorSpec, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        ceil_mode: bool,
    ) -> tuple[TensorSpec, TensorSpec]:  # fmt: skip
        places = pooling(dims, kernel_size, stride, padding, dilation, ceil_mode)
        shape = pooled_shape(self, dims, places)
        check_dtype(self, REAL)
        return picture_spec(self, shape), picture_spec(self, shape, int64)

    return spec


def _backward(dims: int) -> Any:
    def spec(
        grad_output: TensorSpec, self: TensorSpec, kernel_size: Any, stride: Any, padding: Any,
        dilation: Any, ceil_mode: bool, indices: TensorSpec,
    ) -> TensorSpec:  # fmt: skip
        places = pooling(dims, kernel_size, stride, padding, dilation, ceil_mode)
        shape = pooled_shape(self, dims, places)
        check_gradient("grad_output", grad_output, shape)
        check_gradient("indices", indices, shape)
        return picture_spec(self, self.shape, grad_output.dtype)

    return spec


def _vjp(backward: str) -> Any:
    def formula(
        grad: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        ceil_mode: bool, result1: Any,
    ) -> Any:  # fmt: skip
        operator = getattr(t, backward)
        return operator(grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1)

    return formula


def _declare_primitives(dims: int) -> None:
    name = f"max_pool{dims}d_with_indices"
    declare(
        f"{name}(Tensor self, {_windows(dims)}bool ceil_mode=False) -> (Tensor, Tensor)",
        doc="The largest element of each window and its flat index in the plane.",
        spec=_with_indices(dims),
        vjp={"self": _vjp(f"{name}_backward")},
        variants="function out",
        module="nn",
        autocast="float32" if dims == 3 else "",
    )
    declare(
        f"{name}_backward(Tensor grad_output, Tensor self, {_windows(dims, '', '', '')}"
        "bool ceil_mode, Tensor indices) -> Tensor",
        doc=f"The gradient of `{name}`: what comes in goes to the elements that were largest.",
        spec=_backward(dims),
        vjp={
            "grad_output": lambda grad, indices: take_from_planes(grad, indices, dims),
            "self": lambda: None,  # only its shape is read
        },
        variants="",
    )


def _declare_form(dims: int) -> None:
    def decompose(
        self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
    ) -> Any:
        operator = getattr(t, f"max_pool{dims}d_with_indices")
        return operator(self, kernel_size, stride, padding, dilation, ceil_mode)[0]

    windows = _windows(dims) if dims > 1 else _windows(1, zero="=[0]", one="=[1]")
    declare(
        f"max_pool{dims}d(Tensor self, {windows}bool ceil_mode=False) -> Tensor",
        doc="The largest element of each window.",
        decompose=decompose,
        variants="function",
        autocast="float32" if dims == 3 else "",
    )


def _max_pool1d_with_indices(
    self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Any:
    if self.ndim not in (2, 3):
        raise Mismatch(
            f"Expected 2D or 3D input tensor, but got {self.ndim}D input of {list(self.shape)}"
        )
    for name, values, sizes in (
        ("kernel_size", kernel_size, (1,)),
        ("stride", stride, (0, 1)),
        ("padding", padding, (1,)),
        ("dilation", dilation, (1,)),
    ):
        if len(values) not in sizes:
            raise Mismatch(f"{name} must be an int, or a list of 1 int, got {list(values)}")
    places = pooling(1, kernel_size, stride, padding, dilation, ceil_mode)
    values, indices = t.max_pool2d_with_indices(
        self.unsqueeze(-2), (1, *places.kernel), (1, *places.stride), (0, *places.padding),
        (1, *places.dilation), ceil_mode,
    )  # fmt: skip
    return values.squeeze(-2), indices.squeeze(-2)


for _dims in (2, 3):
    _declare_primitives(_dims)
declare(
    f"max_pool1d_with_indices(Tensor self, {_windows(1, zero='=[0]', one='=[1]')}"
    "bool ceil_mode=False) -> (Tensor, Tensor)",
    doc="The largest element of each window and its index.",
    decompose=_max_pool1d_with_indices,
    variants="function",
)
for _dims in (1, 2, 3):
    _declare_form(_dims)
