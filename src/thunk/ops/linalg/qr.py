"""The QR factorization and its packed form of Householder reflections."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import composite, declare
from thunk.ops.linalg.checks import by_columns, by_rows, expect_inexact, expect_matrices
from thunk.ops.linalg.forms import diagonal, first_columns, last_columns, total, with_diagonal
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec


def _qr(A: TensorSpec, mode: str) -> tuple[TensorSpec, TensorSpec]:
    expect_matrices(A)
    expect_inexact(A)
    if mode not in ("reduced", "complete", "r"):
        raise Mismatch(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced', 'r', or "
            "'complete'"
        )
    batch, (rows, columns) = A.shape[:-2], A.shape[-2:]
    size = rows if mode == "complete" else min(rows, columns)
    q = by_rows(A, (0,)) if mode == "r" else by_columns(A, (*batch, rows, size))
    return q, by_columns(A, (*batch, size, columns))


def _qr_vjp(grads: Any, result0: Any, result1: Any, A_spec: Any, mode: str) -> Any:
    rows, columns = A_spec.shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "linalg_qr: The derivative of linalg.qr depends on Q, which is not computed when "
            "mode='r'. Please use linalg.qr(A, mode='reduced') if you are going to require "
            "gradients"
        )
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "linalg_qr: The QR decomposition is not differentiable when mode='complete' and "
            "nrows > ncols; use mode='reduced'"
        )
    grad_q, grad_r = grads
    if grad_q is None and grad_r is None:
        return None
    if rows >= columns:
        return _tall(grad_q, grad_r, result0, result1)
    # The columns beyond the square are A's own, turned: they send their gradient through Q.
    square, beyond = first_columns(result1, rows), last_columns(result1, rows)
    if grad_r is None:
        head = _tall(grad_q, None, result0, square)
        missing = (*A_spec.shape[:-1], columns - rows)
        rest = t.zeros(missing, dtype=head._spec.dtype, device=head._spec.device)
        return t.cat([head, rest], -1)
    grad_beyond = last_columns(grad_r, rows)
    through = t.matmul(result0, t.matmul(beyond, grad_beyond.mH))
    head = _tall(total([grad_q, through]), first_columns(grad_r, rows), result0, square)
    return t.cat([head, t.matmul(result0, grad_beyond)], -1)


def _tall(grad_q: Any, grad_r: Any, q: Any, r: Any) -> Any:
    """The gradient of a matrix with at least as many rows as columns."""
    middle = total([
        None if grad_r is None else t.matmul(grad_r, r.mH),
        None if grad_q is None else -t.matmul(q.mH, grad_q),
    ])  # fmt: skip
    upper = t.triu(middle)
    mirrored = upper + upper.mH
    edge = diagonal(mirrored) * 0.5
    inner = t.matmul(q, with_diagonal(mirrored, edge))
    if grad_q is not None:
        inner = inner + grad_q
    return t.linalg_solve_triangular(r.mH, inner, upper=False, left=False)


declare(
    'linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)',
    doc="The factors of A = QR: orthonormal columns and an upper triangle.",
    spec=_qr,
    vjp={"A": _qr_vjp},
    variants="function out",
    module="linalg",
)


@composite(
    "qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", variants="function method out"
)
def qr(self: Any, some: bool = True) -> Any:
    """The factors of `self` = QR: orthonormal columns and an upper triangle."""
    return tuple(t.linalg_qr(self, "reduced" if some else "complete"))


def _geqrf(self: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    expect_matrices(self, "input")
    expect_inexact(self, NotImplementedError)
    return (
        by_columns(self, self.shape),
        by_rows(self, (*self.shape[:-2], min(self.shape[-2:]))),
    )


declare(
    "geqrf(Tensor self) -> (Tensor a, Tensor tau)",
    doc="The QR factorization as LAPACK packs it: R above, Householder vectors below, scales.",
    spec=_geqrf,
    vjp=MissingGradient("PyTorch has no gradient for the packed form; use linalg.qr"),
    variants="function method out",
)
