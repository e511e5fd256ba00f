"""Eigenvalues and eigenvectors, of any square matrix and of self-adjoint ones."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import composite, declare
from thunk.ops.linalg.checks import by_columns, by_rows, expect_inexact, expect_square
from thunk.ops.linalg.forms import diagonal, skew, unit_diagonal
from thunk.ops.linalg.svd import expect_no_phase
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec


def _eig(self: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    expect_square(self)
    expect_inexact(self)
    element = self.dtype.to_complex()
    return by_rows(self, self.shape[:-1], element), by_columns(self, self.shape, element)


def _spread(values: Any) -> Any:
    """The differences of eigenvalues, ones on the diagonal."""
    return unit_diagonal(t.unsqueeze(values, -2) - t.unsqueeze(values, -1))


def _eig_vjp(grads: Any, result0: Any, result1: Any) -> Any:
    to_values, to_vectors = grads
    vectors = result1
    if to_vectors is None:
        if to_values is None:
            return None
        inner = t.unsqueeze(to_values, -1) * vectors.mH
        return t.linalg_solve(vectors.mH, inner)
    product = t.matmul(vectors.mH, to_vectors)
    edge = diagonal(product)
    expect_no_phase("linalg_eig_backward", edge)
    # Vectors have length one, so what lengthens them is taken out.
    lengths = t.real(edge).to(product._spec.dtype)
    inner = product - t.matmul(vectors.mH, vectors * t.unsqueeze(lengths, -2))
    inner = inner / _spread(result0).conj()
    edge = t.zeros_like(edge) if to_values is None else to_values
    inner = t.diagonal_scatter(inner, edge, 0, -2, -1)
    return t.linalg_solve(vectors.mH, t.matmul(inner, vectors.mH))


declare(
    "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    doc="The complex eigenvalues and eigenvectors of square matrices.",
    spec=_eig,
    vjp={"self": _eig_vjp},
    variants="function out",
    module="linalg",
    raises_on_data="self",
)
declare(
    "_linalg_eigvals(Tensor self) -> Tensor",
    doc="The complex eigenvalues of square matrices.",
    spec=lambda self: _eig(self)[0],
    vjp=MissingGradient("it needs the eigenvectors; use linalg.eigvals"),
    variants="function",
    raises_on_data="self",
)


@composite("linalg_eigvals(Tensor self) -> Tensor", variants="function out", module="linalg")
def linalg_eigvals(self: Any) -> Any:
    """The complex eigenvalues of square matrices."""
    return t.linalg_eig(self)[0] if self.requires_grad else t._linalg_eigvals(self)


def _eigh(A: TensorSpec, UPLO: str, compute_v: bool) -> tuple[TensorSpec, TensorSpec]:
    expect_square(A)
    expect_inexact(A, NotImplementedError)
    if UPLO.upper() not in ("L", "U"):
        raise Mismatch(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    vectors = by_columns(A, A.shape) if compute_v else by_rows(A, (0,))
    return by_rows(A, A.shape[:-1], A.dtype.to_real()), vectors


def _eigh_vjp(grads: Any, result0: Any, result1: Any, compute_v: bool) -> Any:
    to_values, to_vectors = grads
    if to_values is None and to_vectors is None:
        return None
    if not compute_v:
        raise RuntimeError(
            "linalg_eigh_backward: expected eigenvectors, got none; compute them for gradients"
        )
    vectors = result1
    if to_vectors is None:
        weighted = vectors * t.unsqueeze(to_values, -2).to(vectors._spec.dtype)
        return t.matmul(weighted, vectors.mH)
    product = t.matmul(vectors.mH, to_vectors)
    if product._spec.dtype.is_complex:
        expect_no_phase("linalg_eigh_backward", diagonal(product))
    # Vectors of a self-adjoint matrix can only turn.
    inner = skew(product) / (2 * _spread(result0))
    edge = t.zeros_like(diagonal(inner)) if to_values is None else to_values
    inner = t.diagonal_scatter(inner, edge.to(inner._spec.dtype), 0, -2, -1)
    return t.matmul(vectors, t.matmul(inner, vectors.mH))


declare(
    '_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> '
    "(Tensor eigenvalues, Tensor eigenvectors)",
    doc="The real eigenvalues of self-adjoint matrices in rising order, and the eigenvectors.",
    spec=_eigh,
    vjp={"A": _eigh_vjp},
    variants="function",
    raises_on_data="A",
)


@composite(
    'linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)',
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_eigh(self: Any, UPLO: str = "L") -> Any:
    """The real eigenvalues of self-adjoint matrices in rising order, and the eigenvectors."""
    return tuple(t._linalg_eigh(self, UPLO, True))


@composite(
    'linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor',
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_eigvalsh(self: Any, UPLO: str = "L") -> Any:
    """The real eigenvalues of self-adjoint matrices in rising order."""
    return t._linalg_eigh(self, UPLO, self.requires_grad)[0]
