"""The logarithm of a sum of exponentials."""

from __future__ import annotations

from typing import Any

from thunk.ops.declare import declare
from thunk.ops.pointwise.arithmetic import conjugate
from thunk.ops.reduce.shapes import reduction, restore
from thunk.ops.registry import t
from thunk.types.promotion import to_inexact
from thunk.types.spec import TensorSpec


def _logsumexp(self: TensorSpec, dim: Any, keepdim: bool) -> TensorSpec:
    found: TensorSpec = reduction(self, dim, keepdim, to_inexact(self.dtype))
    return found


def _gradient(grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    spec = self._spec
    share = t.exp(self - restore(result, spec, dim, keepdim))
    return restore(grad, spec, dim, keepdim) * conjugate(share)


declare(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    doc="`log(sum(exp(self)))` along dimensions, without overflow.",
    spec=_logsumexp,
    vjp={"self": _gradient},
    variants="function method out",
)
