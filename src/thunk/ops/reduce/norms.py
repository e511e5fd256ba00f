"""Vector norms and what is made of them: `norm`, `dist`, `renorm`, `norm_except_dim`."""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.reduce.shapes import reduction, restore
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim, wrap_dims
from thunk.types.dtype import COMPLEX, dtype
from thunk.types.promotion import promote_types
from thunk.types.spec import TensorSpec

_FORMS = "function method out"


def _vector_norm(self: TensorSpec, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> TensorSpec:
    if not self.dtype.is_inexact:
        raise Mismatch(
            f"Expected a floating point or complex tensor as input. Got {self.dtype!r}; convert it"
        )
    if isinstance(ord, complex):
        raise Mismatch("Expected a non-complex scalar as the order of norm.")
    element = _computing_dtype(self.dtype, dtype)
    if ord < 0 or ord == math.inf:
        _refuse_no_identity(self, ord, dim)
    found: TensorSpec = reduction(self, dim, keepdim, element.to_real())
    return found


def _computing_dtype(own: dtype, wanted: dtype | None) -> dtype:
    if wanted is None:
        return own
    if not wanted.is_inexact:
        raise Mismatch(f"dtype should be floating point or complex, but got {wanted!r}")
    if own.is_complex != wanted.is_complex:
        kind = "complex" if own.category == COMPLEX else "real"
        raise Mismatch(f"dtype should be {kind} for {kind} inputs, but got {wanted!r}")
    if promote_types(own, wanted) is not wanted:
        raise Mismatch(
            f"the dtype of the input ({own!r}) should be convertible without narrowing to the "
            f"specified dtype ({wanted!r})"
        )
    return wanted


def _refuse_no_identity(self: TensorSpec, ord: Any, dim: Any) -> None:
    if self.numel:
        return
    if dim is None or dim == ():
        raise Mismatch(
            f"cannot compute the {ord} norm on an empty tensor because the operation does not "
            "have an identity"
        )
    for each in wrap_dims(dim, self.ndim):
        if self.shape[each] == 0:
            raise Mismatch(
                f"cannot compute the {ord} norm on the dimension {each} because this dimension is "
                "empty and the operation does not have an identity"
            )


def norm_gradient(grad: Any, self: Any, ord: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a norm; zero where the norm is."""
    spec = self._spec
    grad, norm = (restore(each, spec, dim, keepdim) for each in (grad, result))
    if ord == 0:
        return None
    if ord == 1:
        return t.sgn(self) * grad
    if ord == 2:
        return grad * t.masked_fill(self / norm, t.eq(norm, 0), 0)
    if math.isinf(ord):
        size = t.abs(self)
        mask = t.logical_or(t.eq(size, norm), t.isnan(size))
        count = t.sum(mask, dim, keepdim=True) if spec.ndim else t.sum(mask)
        return t.sgn(self) * ((grad / count) * mask)
    return _power_gradient(grad, self, ord, norm)


def _power_gradient(grad: Any, self: Any, order: Any, norm: Any) -> Any:
    size = t.abs(self)
    if order < 1:
        power = t.masked_fill(t.pow(size, order - 1), t.eq(self, 0), 0)
        return t.sgn(self) * power * grad * t.pow(norm, 1 - order)
    if order < 2:
        scaled = t.sgn(self) * t.pow(size, order - 1)
    else:
        scaled = self * t.pow(size, order - 2)
    return scaled * t.masked_fill(grad / t.pow(norm, order - 1), t.eq(norm, 0), 0)


declare(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    doc="The norm of order `ord` of the elements along dimensions.",
    spec=_vector_norm,
    vjp={"self": norm_gradient},
    variants="function out",
    module="linalg",
    static="ord",
)


@composite(
    'norm(Tensor self, Any? p="fro", int[1]? dim=None, bool keepdim=False, *, '
    "ScalarType? dtype=None) -> Tensor",
    variants=_FORMS,
)
def norm(
    self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """A vector norm (`p` a number or "fro") or a matrix norm ("nuc")."""
    if p is None:
        p = 2.0
    if not isinstance(p, str):
        return t.linalg_vector_norm(self, p, dim, keepdim, dtype=dtype)
    if p == "fro" and (dim is None or len(dim) <= 2):
        return t.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)
    dims = tuple(range(self._spec.ndim)) if dim is None else dim
    return t.linalg_matrix_norm(self, p, dims, keepdim, dtype=dtype)


@composite("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", variants=_FORMS, static="p")
def dist(self: Any, other: Any, p: Any = 2) -> Any:
    """The norm of the difference."""
    return t.linalg_vector_norm(self - other, p)


@composite(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    variants="function method inplace out",
    static="p maxnorm",
)
def renorm(self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """Each slice along `dim` scaled down to a norm of at most `maxnorm`."""
    if isinstance(p, complex) or isinstance(maxnorm, complex):
        raise RuntimeError("renorm: expected real p and maxnorm, got a complex number")
    if not p > 0:
        raise RuntimeError(f"renorm: expected a positive p, got {p}: no norm to scale by")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0, got {maxnorm}")
    ndim = self._spec.ndim
    if ndim < 2:
        raise RuntimeError(f"renorm: expected at least 2 dimensions, got {ndim}; unsqueeze it")
    try:
        kept = wrap_dim(dim, ndim)
    except Mismatch as mismatch:
        raise mismatch.named("renorm") from None
    dims = [each for each in range(ndim) if each != kept]
    norm = t.linalg_vector_norm(self, p, dims, keepdim=True)
    factor = t.where(t.gt(norm, maxnorm), maxnorm / (norm + 1e-7), 1)
    return self * factor


@composite("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", variants="function")
def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """The norm over all dimensions but `dim` (-1: over all), of a shape that broadcasts to `v`."""
    if dim == -1:
        return t.linalg_vector_norm(v, pow)
    dims = [each for each in range(v._spec.ndim) if each != dim]
    return t.linalg_vector_norm(v, pow, dims, keepdim=True)
