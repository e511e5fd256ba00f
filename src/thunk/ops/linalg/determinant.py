"""Determinants, their signs and logarithms."""

from __future__ import annotations

from typing import Any

from thunk.dispatch.state import state
from thunk.ops.declare import composite, declare
from thunk.ops.linalg.checks import by_columns, by_rows, expect_inexact, expect_square
from thunk.ops.linalg.forms import diagonal, identity_like
from thunk.ops.pointwise.forms import conjugate
from thunk.ops.registry import t
from thunk.types.dtype import int32
from thunk.types.info import finfo
from thunk.types.spec import TensorSpec


def _factors(A: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    return by_columns(A, A.shape), by_rows(A, A.shape[:-1], int32)


def _det(A: TensorSpec) -> tuple[TensorSpec, ...]:
    expect_square(A)
    expect_inexact(A)
    return by_rows(A, A.shape[:-2]), *_factors(A)


def _slogdet(A: TensorSpec) -> tuple[TensorSpec, ...]:
    expect_square(A)
    expect_inexact(A, low=RuntimeError)
    batch = A.shape[:-2]
    return by_rows(A, batch), by_rows(A, batch, A.dtype.to_real()), *_factors(A)


def _over_adjoint(scale: Any, A: Any, factors: Any, pivots: Any) -> Any:
    """`scale` times the inverse of the adjoint of A.

    Nobody differentiates a plain backward pass, which can use the factors that are there; a
    recorded one must go through A itself.
    """
    right = t.unsqueeze(t.unsqueeze(scale, -1), -1).to(A._spec.dtype) * identity_like(A)
    if state.grad_enabled:
        return t.linalg_solve(A.mH, right)
    return t.linalg_lu_solve(factors, pivots, right, adjoint=True)


def _det_vjp(grad: Any, result0: Any, A: Any, result1: Any, result2: Any) -> Any:
    if not A._spec.shape[-1]:
        return t.zeros_like(A)
    if A._spec.shape[-1] == 1:
        return t.unsqueeze(t.unsqueeze(grad, -1), -1)
    if state.grad_enabled:
        return _over_adjoint(grad * conjugate(result0), A, result1, result2)
    # The gradient is finite where A is singular too: a tiny pivot instead of zero finds it.
    pivot = diagonal(result1)
    filled = t.where(t.eq(pivot, 0), t.full_like(pivot, finfo(A._spec.dtype).eps), pivot)
    product = _permutation_sign(result2, pivot) * t.prod(filled, -1)
    factors = t.diagonal_scatter(result1, filled, 0, -2, -1)
    return _over_adjoint(grad * conjugate(product), A, factors, result2)


def _permutation_sign(pivots: Any, like: Any) -> Any:
    size = pivots._spec.shape[-1]
    places = t.arange(1, size + 1, dtype=int32, device=pivots._spec.device)
    swaps = t.sum(t.ne(pivots, places), -1)
    return 1 - 2 * t.remainder(swaps, 2).to(like._spec.dtype)


declare(
    "_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
    doc="The determinant, and the packed factors that it comes from.",
    spec=_det,
    vjp={"A": _det_vjp},
    variants="",
)


@composite("linalg_det(Tensor A) -> Tensor", variants="function out", module="linalg")
def linalg_det(A: Any) -> Any:
    """The determinant."""
    return t._linalg_det(A)[0]


@composite("det(Tensor self) -> Tensor")
def det(self: Any) -> Any:
    """The determinant."""
    return t._linalg_det(self)[0]


def _slogdet_vjp(grads: Any, result0: Any, A: Any, result2: Any, result3: Any) -> Any:
    to_sign, to_log = grads[0], grads[1]
    is_complex = A._spec.dtype.is_complex
    if to_log is None and (to_sign is None or not is_complex):
        return t.zeros_like(A)
    scale = to_log
    if is_complex and to_sign is not None:
        turn = t.imag(to_sign.conj() * result0)
        real = t.zeros_like(turn) if to_log is None else to_log
        scale = t.complex(real, -turn)
    return _over_adjoint(scale, A, result2, result3)


declare(
    "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
    doc="The determinant's sign and the logarithm of its size, and the packed factors.",
    spec=_slogdet,
    vjp={"A": _slogdet_vjp},
    variants="",
)


@composite(
    "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_slogdet(A: Any) -> Any:
    """The determinant's sign and the logarithm of its size."""
    return tuple(t._linalg_slogdet(A)[:2])


@composite(
    "slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", variants="function method out"
)
def slogdet(self: Any) -> Any:
    """The determinant's sign and the logarithm of its size."""
    return tuple(t._linalg_slogdet(self)[:2])


@composite("logdet(Tensor self) -> Tensor")
def logdet(self: Any) -> Any:
    """The logarithm of the determinant; NaN where it is negative."""
    sign, size = t._linalg_slogdet(self)[:2]
    if self._spec.dtype.is_complex:
        return size + t.log(sign)
    return t.where(t.eq(sign, -1), t.full_like(size, float("nan")), size)
