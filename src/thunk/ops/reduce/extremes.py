"""Largest and smallest: values, values with indices, and indices alone."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import composite, declare
from thunk.ops.reduce.shapes import (
    along_one,
    evenly_among_equals,
    picks,
    reduction,
    refuse_dtypes,
    refuse_empty,
    restore,
    selection,
)
from thunk.ops.registry import t
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec, make_spec

_FORMS = "function method out"


def _values(self: TensorSpec, dim: Any, keepdim: bool) -> TensorSpec:
    refuse_dtypes(self, "complex", "wide unsigned")
    refuse_empty(self, dim)
    found: TensorSpec = reduction(self, dim, keepdim)
    return found


def evenly(grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of an extreme value: equal parts to the elements that attain it."""
    spec = self._spec
    mask = t.eq(restore(result, spec, dim, keepdim), self)
    count = t.sum(mask, dim, keepdim=True) if spec.ndim else t.sum(mask)
    return (restore(grad, spec, dim, keepdim) * mask) / count


def _declare_values(name: str, doc: str) -> None:
    declare(
        f"{name}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
        doc=f"The {doc} value along dimensions; ties share the gradient.",
        spec=_values,
        vjp={"self": evenly},
        variants=_FORMS,
    )


_declare_values("amax", "largest")
_declare_values("amin", "smallest")


def _whole(self: TensorSpec) -> TensorSpec:
    refuse_dtypes(self, "complex", "wide unsigned")
    refuse_empty(self, None)
    return make_spec((), self.dtype, self.device)


def _with_index(self: TensorSpec, dim: int, keepdim: bool) -> tuple[TensorSpec, TensorSpec]:
    refuse_dtypes(self, "complex", kind=RuntimeError)
    refuse_dtypes(self, "wide unsigned")
    return selection(self, dim, keepdim)


def _declare_overloads(name: str, doc: str, values: str, pairwise: str) -> None:
    """`max` or `min`: of two tensors, of all elements, along one dimension with the index."""
    composite(f"{name}.other(Tensor self, Tensor other) -> Tensor", variants=_FORMS)(
        _pairwise(name, pairwise)
    )
    declare(
        f"{name}(Tensor self) -> Tensor",
        doc=f"The {doc} of all elements.",
        spec=_whole,
        vjp={"self": evenly_among_equals},
        decompose=lambda self: getattr(t, values)(self),
        variants=_FORMS,
    )
    declare(
        f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        doc=f"The {doc} value along one dimension and the index where it first occurs.",
        spec=_with_index,
        vjp=picks("self"),
        variants=_FORMS,
    )


def _pairwise(name: str, pairwise: str) -> Any:
    def function(self: Any, other: Any) -> Any:
        return getattr(t, pairwise)(self, other)

    function.__doc__ = f"The elementwise {name}imum of two tensors."
    return function


_declare_overloads("max", "largest", "amax", "maximum")
_declare_overloads("min", "smallest", "amin", "minimum")


def _both(self: TensorSpec, dim: int | None, keepdim: bool) -> tuple[TensorSpec, TensorSpec]:
    refuse_dtypes(self, "complex", "wide unsigned")
    if dim is None and not self.numel:
        raise Mismatch(
            "cannot compute aminmax over an empty dimension as the operation has no identity"
        )
    refuse_empty(self, dim)
    found: TensorSpec = reduction(self, dim, keepdim)
    return found, found


def _both_gradient(
    grads: Any, self: Any, result0: Any, result1: Any, dim: Any, keepdim: bool
) -> Any:
    low, high = grads
    parts = [
        evenly(grad, self, result, dim, keepdim)
        for grad, result in ((low, result0), (high, result1))
        if grad is not None
    ]
    return parts[0] + parts[1] if len(parts) == 2 else parts[0]


declare(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    doc="The smallest and the largest value, of all elements or along one dimension.",
    spec=_both,
    vjp={"self": _both_gradient},
    decompose=lambda self, *, dim=None, keepdim=False: (
        t.amin(self, () if dim is None else dim, keepdim),
        t.amax(self, () if dim is None else dim, keepdim),
    ),
    variants="function method out exact",
)


def _position(self: TensorSpec, dim: int | None, keepdim: bool) -> TensorSpec:
    refuse_dtypes(self, "complex", "bool", kind=RuntimeError)
    refuse_dtypes(self, "wide unsigned")
    refuse_empty(self, dim, whole=IndexError)
    if dim is None:
        found: TensorSpec = reduction(self, None, keepdim, int64)
        return found
    return along_one(self, dim, keepdim, int64)


def _declare_position(name: str, doc: str) -> None:
    declare(
        f"{name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        doc=f"The index of the first {doc} value, flat or along one dimension.",
        spec=_position,
        vjp=NoGradient("the result is an index"),
        variants=_FORMS,
    )


_declare_position("argmax", "largest")
_declare_position("argmin", "smallest")
