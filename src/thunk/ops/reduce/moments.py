"""Variance and standard deviation, alone or together with the mean."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.reduce.shapes import count_of, reduction, restore
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec

_FORMS = "function method out"
_ARGUMENTS = "Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False"


def _degrees(self: TensorSpec, dim: Any, correction: Any) -> Any:
    """What the sum of squares is divided by."""
    return count_of(self, dim) - (1 if correction is None else correction)


def _spread_spec(self: TensorSpec, dim: Any, correction: Any, keepdim: bool) -> TensorSpec:
    if not self.dtype.is_inexact:
        raise Mismatch(
            f"std and var only support floating point and complex dtypes, got {self.dtype!r}; "
            "convert the tensor first"
        )
    found: TensorSpec = reduction(self, dim, keepdim, self.dtype.to_real())
    if found.numel and _degrees(self, dim, correction) <= 0:
        warnings.warn(
            "std or var: degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel).",
            UserWarning,
            stacklevel=2,
        )
    return found


def _with_mean_spec(self: TensorSpec, dim: Any, correction: Any, keepdim: bool) -> Any:
    found = _spread_spec(self, dim, correction, keepdim)
    return found, found.with_dtype(self.dtype)


def variance_gradient(grad: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    """d var / d self = 2 (self - mean) / degrees of freedom."""
    spec = self._spec
    degrees = _degrees(spec, dim, correction)
    if degrees <= 0 and (dim is None or not spec.ndim):
        # PyTorch's answer to 2/0, whose sign it leaves out.
        return grad * t.where(t.eq(self, t.mean(self)), math.nan, math.inf)
    factor = 2 / degrees if degrees else math.inf
    centred = self - t.mean(self, dim, keepdim=True) if spec.ndim else self - t.mean(self)
    return (factor * restore(grad, spec, dim, keepdim)) * centred


def deviation_gradient(
    grad: Any, self: Any, result: Any, dim: Any, correction: Any, keepdim: bool
) -> Any:
    """The gradient of the square root of the variance, zero where that is zero."""
    scaled = t.masked_fill(grad / (result * 2), t.eq(result, 0), 0)
    return variance_gradient(scaled, self, dim, correction, keepdim)


def _mean_part(grad: Any, spec: TensorSpec, dim: Any, keepdim: bool) -> Any:
    return t.div(restore(grad, spec, dim, keepdim), count_of(spec, dim)).expand(spec.shape)


def _variance_and_mean(grads: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    spread, mean = grads
    total = None
    if spread is not None:
        total = variance_gradient(spread, self, dim, correction, keepdim)
    if mean is not None:
        part = _mean_part(mean, self._spec, dim, keepdim)
        total = part if total is None else total + part
    return total


def _deviation_and_mean(
    grads: Any, self: Any, result0: Any, dim: Any, correction: Any, keepdim: bool
) -> Any:
    spread, mean = grads
    if spread is not None:
        spread = t.masked_fill(spread / (result0 * 2), t.eq(result0, 0), 0)
    return _variance_and_mean((spread, mean), self, dim, correction, keepdim)


def _short_forms(name: str, returns: str, variants: str) -> None:
    """The overloads with `unbiased=`: a correction of one or none."""

    def along(self: Any, dim: Any, unbiased: bool = True, keepdim: bool = False) -> Any:
        return _packet(name)(self, dim, correction=int(unbiased), keepdim=keepdim)

    def whole(self: Any, unbiased: bool = True) -> Any:
        return _packet(name)(self, None, correction=int(unbiased))

    doc = f"`{name}` with a correction of one if `unbiased`, else of zero."
    head = f"{name}(Tensor self, bool unbiased=True) -> {returns}"
    composite(head, doc=doc, variants=variants)(whole)
    head = (
        f"{name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> {returns}"
    )
    composite(head, doc=doc, variants=variants)(along)


def _packet(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(t, name)
    return found


_short_forms("std", "Tensor", _FORMS)
declare(
    f"std.correction({_ARGUMENTS}) -> Tensor",
    doc="The standard deviation along dimensions.",
    spec=_spread_spec,
    vjp={"self": deviation_gradient},
    variants=_FORMS,
    static="correction",
)
_short_forms("var", "Tensor", _FORMS)
declare(
    f"var.correction({_ARGUMENTS}) -> Tensor",
    doc="The variance along dimensions.",
    spec=_spread_spec,
    vjp={"self": variance_gradient},
    variants=_FORMS,
    static="correction",
)
_short_forms("std_mean", "(Tensor, Tensor)", "function")
declare(
    f"std_mean.correction({_ARGUMENTS}) -> (Tensor, Tensor)",
    doc="The standard deviation and the mean along dimensions.",
    spec=_with_mean_spec,
    vjp={"self": _deviation_and_mean},
    variants="function",
    static="correction",
)
_short_forms("var_mean", "(Tensor, Tensor)", "function")
declare(
    f"var_mean.correction({_ARGUMENTS}) -> (Tensor, Tensor)",
    doc="The variance and the mean along dimensions.",
    spec=_with_mean_spec,
    vjp={"self": _variance_and_mean},
    variants="function",
    static="correction",
)
