"""Singular value decompositions of matrices of low rank, by random projections."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite
from thunk.ops.linalg.checks import expect_matrices
from thunk.ops.registry import t


def _basis(A: Any, q: int, niter: int) -> Any:
    """Orthonormal columns that span most of what A reaches."""
    spec = A._spec
    start = t.randn((spec.shape[-1], q), dtype=spec.dtype, device=spec.device)
    found = t.linalg_qr(t.matmul(A, start))[0]
    for _ in range(niter):
        found = t.linalg_qr(t.matmul(A.mH, found))[0]
        found = t.linalg_qr(t.matmul(A, found))[0]
    return found


@composite(
    "svd_lowrank(Tensor A, int? q=6, int? niter=2, Tensor? M=None) -> "
    "(Tensor U, Tensor S, Tensor V)"
)
def svd_lowrank(A: Any, q: Any, niter: Any, M: Any) -> Any:
    """The `q` largest singular values of A (less M) and their vectors, by `niter` power steps."""
    expect_matrices(A._spec)
    count, steps = 6 if q is None else q, 2 if niter is None else niter
    values = A if M is None else A - M.expand(A._spec.shape)
    rows, columns = values._spec.shape[-2:]
    wide = rows < columns
    tall = values.mH if wide else values
    basis = _basis(tall, count, steps)
    u, s, vh = t.linalg_svd(t.matmul(basis.mH, tall), False)
    left, right = t.matmul(basis, u), vh.mH
    return (right, s, left) if wide else (left, s, right)


@composite(
    "pca_lowrank(Tensor A, int? q=None, bool center=True, int niter=2) -> "
    "(Tensor U, Tensor S, Tensor V)"
)
def pca_lowrank(A: Any, q: Any, center: bool, niter: int) -> Any:
    """The principal components of A's rows: a decomposition of low rank of A less its mean row."""
    expect_matrices(A._spec)
    smallest = min(A._spec.shape[-2:])
    count = min(6, smallest) if q is None else q
    if not 0 <= count <= smallest:
        raise Mismatch(
            f"q(={count}) must be non-negative integer and not greater than min(m, n)={smallest}",
            ValueError,
        )
    if niter < 0:
        raise Mismatch(f"niter(={niter}) must be non-negative integer", ValueError)
    values = A - t.mean(A, (-2,), keepdim=True) if center else A
    return tuple(t.svd_lowrank(values, count, niter))
