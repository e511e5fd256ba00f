"""Products of all elements and along one dimension."""

from __future__ import annotations

from typing import Any

from thunk.ops.declare import declare
from thunk.ops.pointwise.arithmetic import conjugate
from thunk.ops.reduce.shapes import along_one
from thunk.ops.reduce.sums import sum_dtype
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec, make_spec


def _product(self: TensorSpec, dim: int, keepdim: bool, dtype: Any) -> TensorSpec:
    return along_one(self, dim, keepdim, sum_dtype(self, dtype))


def exclusive_products(self: Any, dim: int) -> Any:
    """For each element the product of all elements before it along `dim`."""
    count = self._spec.shape[dim]
    ones = t.ones_like(t.narrow(self, dim, 0, 1))
    return t.cumprod(t.cat([ones, t.narrow(self, dim, 0, count - 1)], dim), dim)


def product_gradient(grad: Any, self: Any, dim: int) -> Any:
    """The gradient of a product (`grad` has `dim` as a one): right at any number of zeros.

    The product of the others is built from both sides, so nothing is divided.
    """
    if not self._spec.ndim or self._spec.shape[dim] <= 1:
        return grad.expand(self._spec.shape)
    self = self.to(grad._spec.dtype)
    before = exclusive_products(self, dim)
    after = t.flip(exclusive_products(t.flip(self, [dim]), dim), [dim])
    return grad * conjugate(before * after)


def _flat_gradient(grad: Any, self: Any) -> Any:
    flat = t.reshape(self, [-1])
    return t.reshape(product_gradient(t.reshape(grad, [1]), flat, 0), self._spec.shape)


def _gradient_along(grad: Any, self: Any, dim: int, keepdim: bool) -> Any:
    if not keepdim and self._spec.ndim:
        grad = t.unsqueeze(grad, dim)
    return product_gradient(grad, self, dim)


declare(
    "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    doc="The product of all elements.",
    spec=lambda self, dtype: make_spec((), sum_dtype(self, dtype), self.device),
    vjp={"self": _flat_gradient},
    variants="function method out",
    autocast="float32",
)
declare(
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    doc="The product along one dimension.",
    spec=_product,
    vjp={"self": _gradient_along},
    variants="function method out",
    autocast="float32",
)
