"""Least squares and the pseudoinverse."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.linalg.checks import (
    batch_of,
    by_columns,
    by_rows,
    expect_inexact,
    expect_matrices,
    expect_same_dtype,
)
from thunk.ops.linalg.forms import total
from thunk.ops.registry import t
from thunk.types.dtype import int64
from thunk.types.info import finfo
from thunk.types.spec import TensorSpec

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def is_vector_problem(self: TensorSpec, b: TensorSpec) -> bool:
    """Whether b is a batch of vectors rather than of matrices."""
    return self.ndim - 1 == b.ndim and self.shape[:-1] == b.shape


def _lstsq(self: TensorSpec, b: TensorSpec, rcond: Any, driver: Any) -> tuple[TensorSpec, ...]:
    expect_matrices(self, "input")
    if not b.ndim:
        raise Mismatch("other must have at least 1 dimension, got 0")
    expect_same_dtype(self, b, "input and other")
    expect_inexact(self, low=RuntimeError)
    if driver is not None and driver not in _DRIVERS:
        raise Mismatch(
            f"parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got {driver!r}"
        )
    if not 0 <= self.ndim - b.ndim <= 1:
        raise Mismatch(
            f"input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) "
            f"<= 1, got {self.ndim} and {b.ndim}"
        )
    vector = is_vector_problem(self, b)
    side = by_rows(b, (*b.shape, 1)) if vector else b
    if side.ndim < 2 or side.shape[-2] != self.shape[-2]:
        raise Mismatch(
            "input.size(-2) should match other.size(-2), got "
            f"{list(self.shape)} and {list(b.shape)}"
        )
    batch = batch_of(self, side)
    shape = (*batch, self.shape[-1]) if vector else (*batch, self.shape[-1], side.shape[-1])
    solution = by_rows(b, shape) if vector else by_columns(b, shape)
    empty = by_rows(b, (0,), b.dtype.to_real())
    return solution, empty, by_rows(b, batch, int64), empty


def _lstsq_vjp(
    grads: Any, self: Any, b: Any, result0: Any, result1: Any, needed: Any
) -> tuple[Any, Any]:
    to_solution, to_residuals = grads[0], grads[1]
    vector = is_vector_problem(self._spec, b._spec)
    if vector:
        b, result0 = t.unsqueeze(b, -1), t.unsqueeze(result0, -1)
        to_solution = None if to_solution is None else t.unsqueeze(to_solution, -1)
        to_residuals = None if to_residuals is None else t.unsqueeze(to_residuals, -1)
    to_self, to_b = [], []
    if to_solution is not None:
        inverse = t.linalg_pinv(self)
        to_b.append(t.matmul(inverse.mH, to_solution))
        if needed[0]:
            to_self.append(pinv_gradient(t.matmul(to_solution, b.mH), inverse, self))
    if to_residuals is not None and result1._spec.numel:
        rest = t.matmul(self, result0) - b
        weighted = 2 * rest * t.unsqueeze(to_residuals, -2)
        to_b.append(-weighted)
        to_self.append(t.matmul(weighted, result0.mH))
    found = total(to_b)
    if vector and found is not None:
        found = t.squeeze(found, -1)
    return total(to_self), found


declare(
    "_linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> "
    "(Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    doc="Least squares; gradients flow from the solution and the residuals.",
    spec=_lstsq,
    vjp={("self", "b"): _lstsq_vjp},
    variants="",
    dynamic_shape=True,  # residuals exist only where A turns out to be of full rank
    raises_on_data="A",
)


@composite(
    "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> "
    "(Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_lstsq(self: Any, b: Any, rcond: Any = None, driver: Any = None) -> Any:
    """The X of least norm among those that make the columns of AX - B shortest."""
    solution, residuals, rank, values = t._linalg_lstsq(self, b, rcond, driver=driver)
    return solution, residuals, rank, values.detach()


def pinv_gradient(grad: Any, inverse: Any, A: Any) -> Any:
    """The gradient of the pseudoinverse, the rank taken as constant."""
    turned, adjoint = grad.mH, inverse.mH
    rows, columns = A._spec.shape[-2:]
    # Products are formed in the order that keeps them small.
    if rows <= columns:
        inner = t.matmul(turned, inverse)
        main = t.matmul(adjoint, t.matmul(grad, adjoint))
        spread = t.matmul(inner, adjoint)
        left = spread - t.matmul(A, t.matmul(inverse, spread))
        right = t.matmul(t.matmul(adjoint, inverse), turned - t.matmul(inner, A))
        return left + right - main
    inner = t.matmul(inverse, turned)
    main = t.matmul(t.matmul(adjoint, grad), adjoint)
    left = t.matmul(t.matmul(turned - t.matmul(A, inner), inverse), adjoint)
    spread = t.matmul(adjoint, inner)
    right = spread - t.matmul(t.matmul(spread, inverse), A)
    return left + right - main


def _pinv_spec(self: TensorSpec, atol: Any, rtol: Any, hermitian: bool) -> TensorSpec:
    if self.ndim < 2:
        raise Mismatch(f"expected a tensor with 2 or more dimensions, got {self.ndim}")
    expect_inexact(self, low=RuntimeError)
    for name, bound in (("atol", atol), ("rtol", rtol)):
        if isinstance(bound, TensorSpec) and bound.dtype.is_complex:
            raise Mismatch(f"{name} tensor of complex type is not supported, got {bound.dtype!r}")
    return by_rows(self, (*self.shape[:-2], self.shape[-1], self.shape[-2]))


def tolerances(self: Any, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Absolute and relative bounds below which singular values count as zero."""
    if rtol is None:
        size = max(self._spec.shape[-2:])
        rtol = 0.0 if isinstance(atol, float) and atol > 0 else finfo(self._spec.dtype).eps * size
        if hasattr(atol, "_spec"):
            rtol = t.where(t.gt(atol, 0), t.zeros_like(atol), t.full_like(atol, rtol))
    return 0.0 if atol is None else atol, rtol


def bound_of(largest: Any, atol: Any, rtol: Any) -> Any:
    """The larger of the bounds, given the largest singular values (with a last dimension of 1)."""
    relative = _raised(rtol) * largest
    absolute = _raised(atol)
    if not hasattr(absolute, "_spec"):
        return t.clamp(relative, absolute)
    return t.maximum(absolute, relative)


def _raised(value: Any) -> Any:
    return t.unsqueeze(value, -1) if hasattr(value, "_spec") else value


def _pinv_parts(self: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    shape = self._spec.shape
    if not self._spec.numel:
        turned = (*shape[:-2], shape[-1], shape[-2])
        return t.zeros(turned, dtype=self._spec.dtype, device=self._spec.device)
    atol, rtol = tolerances(self, atol, rtol)
    if hermitian:
        values, vectors = t.linalg_eigh(self)
        sizes = t.abs(values)
        largest = t.amax(sizes, -1, keepdim=True)
        kept = t.gt(sizes, bound_of(largest, atol, rtol))
        inverted = t.where(kept, t.reciprocal(values), t.zeros_like(values))
        return t.matmul(vectors * t.unsqueeze(inverted, -2), vectors.mH)
    u, s, vh = t.linalg_svd(self, False)
    largest = t.narrow(s, -1, 0, 1)
    kept = t.gt(s, bound_of(largest, atol, rtol))
    inverted = t.where(kept, t.reciprocal(s), t.zeros_like(s)).to(u._spec.dtype)
    return t.matmul(vh.mH * t.unsqueeze(inverted, -2), u.mH)


declare(
    "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, "
    "bool hermitian=False) -> Tensor",
    doc="The pseudoinverse; singular values up to max(atol, rtol * largest) count as zero.",
    spec=_pinv_spec,
    vjp={"self": lambda grad, result, self: pinv_gradient(grad, result, self)},
    decompose=_pinv_parts,
    variants="function out",
    module="linalg",
    numbers="atol rtol",
)


@composite(
    "linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_pinv(self: Any, rcond: float, hermitian: bool = False) -> Any:
    """The pseudoinverse; singular values up to rcond * largest count as zero."""
    return t.linalg_pinv(self, atol=0.0, rtol=rcond, hermitian=hermitian)


@composite(
    "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_pinv_tensor(self: Any, rcond: Any, hermitian: bool = False) -> Any:
    """The pseudoinverse; singular values up to rcond * largest count as zero."""
    return t.linalg_pinv(self, atol=0.0, rtol=rcond, hermitian=hermitian)


@composite("pinverse(Tensor self, float rcond=1e-15) -> Tensor")
def pinverse(self: Any, rcond: float = 1e-15) -> Any:
    """The pseudoinverse; singular values up to rcond * largest count as zero."""
    return t.linalg_pinv(self, rcond)
