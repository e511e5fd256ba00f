"""Powers and the exponential of matrices; matrices of powers."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import alias, composite, declare
from thunk.ops.linalg.checks import by_rows, expect_inexact, expect_square
from thunk.ops.linalg.forms import identity_like
from thunk.ops.registry import t
from thunk.types.dtype import bool_, int64
from thunk.types.promotion import promote_types
from thunk.types.spec import TensorSpec


@composite("matrix_power(Tensor self, int n) -> Tensor", variants="function method out")
def matrix_power(self: Any, n: int) -> Any:
    """The product of `n` copies of square matrices; of the inverse if `n` is negative."""
    expect_square(self._spec)
    if n < 0:
        return t.matrix_power(t.linalg_inv(self), -n)
    if n == 0:
        # It depends on nothing, but PyTorch lets gradients (zeros) flow to `self`.
        return t.copy(self, identity_like(self).expand(self._spec.shape))
    if n == 1:
        return t.clone(self)
    found, square = None, self
    while n:
        if n & 1:
            found = square if found is None else t.matmul(found, square)
        n >>= 1
        square = t.matmul(square, square) if n else square
    return found


alias("linalg_matrix_power", "matrix_power", module="linalg", variants="function out")


def _exponential(self: TensorSpec) -> TensorSpec:
    expect_square(self)
    expect_inexact(self, low=None)
    return by_rows(self, self.shape)


def _exponential_vjp(grad: Any, self: Any) -> Any:
    """The corner of the exponential of a block triangle: the derivative in direction `grad`."""
    size = self._spec.shape[-1]
    adjoint = self.mH
    upper = t.cat([adjoint, grad], -1)
    lower = t.cat([t.zeros_like(adjoint), adjoint], -1)
    corner = t.linalg_matrix_exp(t.cat([upper, lower], -2))
    return t.narrow(t.narrow(corner, -2, 0, size), -1, size, size)


declare(
    "linalg_matrix_exp(Tensor self) -> Tensor",
    doc="The exponential of square matrices.",
    spec=_exponential,
    vjp={"self": _exponential_vjp},
    variants="function",
    module="linalg",
)
alias("matrix_exp", "linalg_matrix_exp", module="", variants="function method")


@composite(
    "linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", variants="function", module="linalg"
)
def linalg_vander(x: Any, N: Any = None) -> Any:
    """A matrix whose columns are the powers of `x` from 0 on."""
    spec = x._spec
    if not spec.ndim and N is None:
        raise Mismatch("Expected dim greater than 0, got a 0-dim tensor; pass N")
    if spec.dtype is bool_ or (spec.dtype.is_floating_point and spec.dtype.itemsize < 4):
        raise Mismatch(
            f"supports floating point, complex, and integer tensors, but got {spec.dtype!r}"
        )
    x = t.atleast_1d(x)
    spec = x._spec
    count = spec.shape[-1] if N is None else N
    if count <= 1:
        raise Mismatch(f"N must be greater than 1, got {count}")
    element = spec.dtype if spec.dtype.is_inexact else promote_types(spec.dtype, int64)
    base = t.unsqueeze(x, -1).expand((*spec.shape, count - 1))
    powers = t.cumprod(base, -1)
    ones = t.ones((*spec.shape, 1), dtype=element, device=spec.device)
    return t.cat([ones, powers], -1)
