"""Sum, mean and their forms that skip NaN; counting what is not zero."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite, declare
from thunk.ops.reduce.shapes import count_of, reduction, refuse_dtypes, spread
from thunk.ops.registry import t
from thunk.types.dtype import INTEGRAL, dtype, int64
from thunk.types.spec import TensorSpec

_FORMS = "function method out"


def sum_dtype(self: TensorSpec, wanted: dtype | None) -> dtype:
    """Integers and bool are summed in int64."""
    if wanted is not None:
        return wanted
    return int64 if self.dtype.category <= INTEGRAL else self.dtype


def _sum(self: TensorSpec, dim: Any, keepdim: bool, dtype: Any) -> TensorSpec:
    found: TensorSpec = reduction(self, dim, keepdim, sum_dtype(self, dtype))
    return found


def _mean(self: TensorSpec, dim: Any, keepdim: bool, dtype: Any) -> TensorSpec:
    element = dtype or self.dtype
    if not element.is_inexact:
        what = "Input" if dtype is None else "Optional"
        raise Mismatch(
            f"could not infer output dtype. {what} dtype must be either a floating point or "
            f"complex dtype. Got: {element!r}; pass dtype=torch.float32"
        )
    found: TensorSpec = reduction(self, dim, keepdim, element)
    return found


def mean_gradient(grad: Any, spec: TensorSpec, dim: Any, keepdim: bool) -> Any:
    """The gradient of a mean: an equal part to every element."""
    return t.div(spread(grad, spec, dim, keepdim), count_of(spec, dim))


declare(
    "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    doc="The sum of all elements.",
    spec=lambda self, dtype: _sum(self, None, False, dtype),
    vjp={"self": lambda grad, self_spec: grad.expand(self_spec.shape)},
    variants=_FORMS,
)
declare(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    doc="The sum along dimensions.",
    spec=_sum,
    vjp={"self": lambda grad, self_spec, dim, keepdim: spread(grad, self_spec, dim, keepdim)},
    variants=_FORMS,
)
declare(
    "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    doc="The mean of all elements.",
    spec=lambda self, dtype: _mean(self, None, False, dtype),
    vjp={"self": lambda grad, self_spec: mean_gradient(grad, self_spec, None, False)},
    variants=_FORMS,
)
declare(
    "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    doc="The mean along dimensions.",
    spec=_mean,
    vjp={
        "self": lambda grad, self_spec, dim, keepdim: mean_gradient(grad, self_spec, dim, keepdim)
    },
    variants=_FORMS,
)


def _nansum(self: TensorSpec, dim: Any, keepdim: bool, dtype: Any) -> TensorSpec:
    refuse_dtypes(self, "complex", kind=RuntimeError)
    return _sum(self, dim, keepdim, dtype)


declare(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    doc="The sum along dimensions, NaN counted as zero.",
    spec=_nansum,
    vjp={
        "self": lambda grad, self, dim, keepdim: (
            spread(grad, self._spec, dim, keepdim) * t.logical_not(t.isnan(self))
        )
    },
    variants=_FORMS,
)


@composite(
    "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    variants=_FORMS,
)
def nanmean(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The mean along dimensions of the elements that are not NaN."""
    if not self._spec.dtype.is_inexact:
        raise expected(
            "input to have floating point or complex dtype", repr(self._spec.dtype),
            "convert it first",
        ).named("nanmean")  # fmt: skip
    present = t.logical_not(t.isnan(self.detach()))
    total = t.nansum(self, dim, keepdim, dtype=dtype)
    return total / t.sum(present, dim, keepdim)


@composite("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", variants=_FORMS)
def count_nonzero_dims(self: Any, dim: Any) -> Any:
    """The number of elements along dimensions that are not zero."""
    return t.sum(t.ne(self, 0), dim)


@composite("count_nonzero(Tensor self, int? dim=None) -> Tensor", variants=_FORMS)
def count_nonzero(self: Any, dim: Any = None) -> Any:
    """The number of elements that are not zero."""
    return t.sum(t.ne(self, 0), dim)
