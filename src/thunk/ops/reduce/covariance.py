"""Covariance and correlation of the rows of a matrix."""

from __future__ import annotations

import warnings
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite
from thunk.ops.pointwise.arithmetic import conjugate
from thunk.ops.registry import t
from thunk.types.dtype import bool_

_NO_FREEDOM = (
    "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
    "observations."
)


def _check_rows(spec: Any) -> None:
    if spec.ndim > 2:
        raise expected("two or fewer dimensions", f"{spec.ndim}", "reshape it")
    if spec.dtype is bool_:
        raise expected("a dtype other than bool", repr(spec.dtype), "convert it")


def _check_weights(name: str, weights: Any, count: int) -> None:
    spec = weights._spec
    if spec.ndim > 1:
        raise expected(f"{name} of one or fewer dimensions", f"{spec.ndim}")
    if name == "fweights" and (spec.dtype.is_inexact or spec.dtype is bool_):
        raise expected("fweights of an integral dtype", repr(spec.dtype))
    if name == "aweights" and not spec.dtype.is_floating_point:
        raise expected("aweights of a floating point dtype", repr(spec.dtype))
    if spec.numel != count:
        raise expected(f"as many {name} as observations, {count}", spec.numel)
    if count and bool(t.any(t.lt(weights, 0))):
        raise Mismatch(f"{name} cannot be negative")


def _weights(fweights: Any, aweights: Any, count: int) -> Any:
    if fweights is not None:
        _check_weights("fweights", fweights, count)
    if aweights is not None:
        _check_weights("aweights", aweights, count)
        return aweights if fweights is None else fweights * aweights
    return fweights


@composite(
    "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor"
)
def cov(self: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance matrix of the rows, each column an observation."""
    try:
        _check_rows(self._spec)
        rows = t.reshape(self, [1, -1]) if self._spec.ndim < 2 and self._spec.numel else self
        rows = t.reshape(rows, [1, 0]) if rows._spec.ndim < 2 else rows
        count = rows._spec.shape[1]
        weights = _weights(fweights, aweights, count)
        factor: Any
        if weights is None:
            total: Any = count
            factor = max(count - correction, 0)
        else:
            total, factor = _normalization(weights, aweights, correction)
    except Mismatch as mismatch:
        raise mismatch.named("cov") from None
    weighted = rows if weights is None else rows * weights
    centred = rows - t.unsqueeze(t.div(t.sum(weighted, 1), total), 1)
    right = centred if weights is None else centred * weights
    products = t.mm(centred, conjugate(t.t(right)))
    if weights is None and not factor:
        warnings.warn(_NO_FREEDOM, UserWarning, stacklevel=2)
    return t.squeeze(t.div(products, factor))


def _normalization(weights: Any, aweights: Any, correction: int) -> tuple[Any, Any]:
    """The sum of the weights, and what the products are divided by."""
    total = t.sum(weights)
    if not bool(t.ne(total, 0)):
        raise Mismatch("weights sum to zero, can't be normalized")
    if aweights is not None and correction:
        factor = total - correction * t.sum(weights * aweights) / total
    else:
        factor = total - correction
    if bool(t.le(factor, 0)):
        warnings.warn(_NO_FREEDOM, UserWarning, stacklevel=3)
        factor = t.zeros_like(factor)
    return total, factor


@composite("corrcoef(Tensor self) -> Tensor")
def corrcoef(self: Any) -> Any:
    """The matrix of correlation coefficients of the rows."""
    if self._spec.ndim > 2:
        raise RuntimeError(
            f"corrcoef: expected two or fewer dimensions, got {self._spec.ndim}; reshape it"
        )
    found = t.cov(self)
    if not found._spec.ndim:
        return found / found
    diagonal = t.diagonal(found)
    deviation = t.sqrt(t.real(diagonal) if found._spec.dtype.is_complex else diagonal)
    found = found / t.reshape(deviation, [-1, 1])
    found = found / t.reshape(deviation, [1, -1])
    if found._spec.dtype.is_complex:
        parts = [t.clamp(part(found), -1, 1) for part in (t.real, t.imag)]
        return t.complex(*parts)
    return t.clamp(found, -1, 1)
