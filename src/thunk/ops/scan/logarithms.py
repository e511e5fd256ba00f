"""The running logarithm of a sum of exponentials."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ops.declare import declare
from thunk.ops.pointwise.arithmetic import conjugate
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.types.spec import TensorSpec


def _logcumsumexp(self: TensorSpec, dim: int) -> TensorSpec:
    wrap_dim(dim, self.ndim)
    if not self.dtype.is_inexact:
        raise expected(
            "a floating point or complex tensor", repr(self.dtype), "convert it",
            kind=NotImplementedError,
        )  # fmt: skip
    return self.with_shape(self.shape)


def _gradient(grad: Any, self: Any, result: Any, dim: int) -> Any:
    """Shares `exp(self - result)` of what flows back; every exponent is at most zero."""
    if not self._spec.ndim or self._spec.shape[dim] < 2:
        return grad * conjugate(t.exp(self - result))
    count = self._spec.shape[dim]
    last = t.narrow(result, dim, count - 1, 1)
    following = t.cat([t.narrow(result, dim, 1, count - 1), last], dim)
    # Equal results may be infinite, whose difference is not a number.
    ratio = t.where(t.eq(result, following), 1, t.exp(result - following))
    behind = t._linear_recurrence(conjugate(ratio), grad, dim, True)
    return conjugate(t.exp(self - result)) * behind


declare(
    "logcumsumexp(Tensor self, int dim) -> Tensor",
    doc="The running `log(sum(exp(self)))` along one dimension, without overflow.",
    spec=_logcumsumexp,
    vjp={"self": _gradient},
    variants="function method out",
)
