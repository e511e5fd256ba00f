"""Whether all or any elements are not zero."""

from __future__ import annotations

from typing import Any

from thunk.ir.opdef import NoGradient
from thunk.ops.declare import declare
from thunk.ops.reduce.shapes import along_one, reduction
from thunk.ops.registry import t
from thunk.types.dtype import bool_, dtype, uint8
from thunk.types.spec import TensorSpec

_FORMS = "function method out exact"
_CONSTANT = NoGradient("the result is boolean")


def _truth_dtype(self: TensorSpec) -> dtype:
    return uint8 if self.dtype is uint8 else bool_


def _along_dims(self: TensorSpec, dim: Any, keepdim: bool) -> TensorSpec:
    if dim == ():  # here, unlike elsewhere, no dimension means none
        return self.with_shape(self.shape).with_dtype(_truth_dtype(self))
    found: TensorSpec = reduction(self, dim, keepdim, _truth_dtype(self))
    return found


def _declare_truth(name: str, doc: str) -> None:
    declare(
        f"{name}(Tensor self) -> Tensor",
        doc=f"{doc}.",
        spec=lambda self: _along_dims(self, None, False),
        vjp=_CONSTANT,
        decompose=lambda self: getattr(t, name)(self, None),
        variants=_FORMS,
    )
    declare(
        f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
        doc=f"{doc} along one dimension.",
        spec=lambda self, dim, keepdim: along_one(self, dim, keepdim, _truth_dtype(self)),
        vjp=_CONSTANT,
        decompose=lambda self, dim, keepdim: getattr(t, name)(self, [dim], keepdim),
        variants=_FORMS,
    )
    declare(
        f"{name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
        doc=f"{doc} along dimensions; none are reduced for an empty list.",
        spec=_along_dims,
        vjp=_CONSTANT,
        variants=_FORMS,
    )


_declare_truth("all", "Whether no element is zero")
_declare_truth("any", "Whether an element is not zero")
