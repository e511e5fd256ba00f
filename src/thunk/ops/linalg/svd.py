"""The singular value decomposition."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.linalg.checks import by_columns, by_rows, expect_inexact, expect_matrices
from thunk.ops.linalg.forms import diagonal, first_columns, first_rows, skew, unit_diagonal
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec


def _svd(A: TensorSpec, full_matrices: bool, compute_uv: bool, driver: Any) -> Any:
    expect_matrices(A)
    expect_inexact(A)
    if driver is not None:
        raise Mismatch(
            f"keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend; "
            f"got {driver!r}, leave it out"
        )
    batch, (rows, columns) = A.shape[:-2], A.shape[-2:]
    size = min(rows, columns)
    values = by_rows(A, (*batch, size), A.dtype.to_real())
    if not compute_uv:
        return by_rows(A, (0,)), values, by_rows(A, (0,))
    left = (*batch, rows, rows if full_matrices else size)
    right = (*batch, columns if full_matrices else size, columns)
    return by_columns(A, left), values, by_columns(A, right)


def expect_no_phase(name: str, phase: Any) -> None:
    """Refuse a gradient that depends on the phases, which vectors have at will."""
    imaginary = t.imag(phase)
    if not t.allclose(imaginary, t.zeros_like(imaginary), 1e-2, 1e-2):
        raise RuntimeError(
            f"{name}: The vectors in the complex case are specified up to multiplication by "
            "e^{i phi}. The specified loss function depends on this phase term, making it "
            "ill-defined; use only products that cancel it"
        )


def _svd_vjp(grads: Any, result0: Any, result1: Any, result2: Any, compute_uv: bool) -> Any:
    grad_u, grad_s, grad_vh = grads
    if grad_u is None and grad_s is None and grad_vh is None:
        return None
    if not compute_uv:
        raise RuntimeError(
            "svd_backward: cannot use A.requires_grad without vectors; call svd with "
            "compute_uv=True"
        )
    size = result1._spec.shape[-1]
    u, vh = first_columns(result0, size), first_rows(result2, size)
    if grad_u is None and grad_vh is None:
        return t.matmul(u, t.unsqueeze(grad_s, -1).to(vh._spec.dtype) * vh)
    grad_u = None if grad_u is None else first_columns(grad_u, size)
    grad_v = None if grad_vh is None else first_rows(grad_vh, size).mH
    return _from_vectors(grad_u, grad_s, grad_v, u, result1, vh)


def _from_vectors(grad_u: Any, grad_s: Any, grad_v: Any, u: Any, s: Any, vh: Any) -> Any:
    """The gradient where singular vectors have one, with the usual care for what they leave out."""
    across, down = t.unsqueeze(s, -2), t.unsqueeze(s, -1)
    gaps = unit_diagonal((across - down) * (across + down))
    left = None if grad_u is None else skew(t.matmul(u.mH, grad_u))
    right = None if grad_v is None else skew(t.matmul(vh, grad_v))
    is_complex = u._spec.dtype.is_complex
    if is_complex:
        phase = sum(diagonal(each) for each in (left, right) if each is not None)
        expect_no_phase("svd_backward", phase)
    inner: Any = 0
    if left is not None:
        inner = inner + left / gaps * across
    if right is not None:
        inner = inner + down * (right / gaps)
    edge: Any = 0 if grad_s is None else grad_s
    if is_complex and left is not None and right is not None:
        edge = edge + diagonal(left) / (2 * s)
    inner = _on_diagonal(inner, edge)
    result = t.matmul(u, t.matmul(inner, vh))
    rows, columns, size = u._spec.shape[-2], vh._spec.shape[-1], s._spec.shape[-1]
    if rows > size and grad_u is not None:
        outside = grad_u / across
        outside = outside - t.matmul(u, t.matmul(u.mH, outside))
        result = result + t.matmul(outside, vh)
    if columns > size and grad_v is not None:
        outside = (grad_v / across).mH
        outside = outside - t.matmul(t.matmul(outside, vh.mH), vh)
        result = result + t.matmul(u, outside)
    return result


def _on_diagonal(inner: Any, edge: Any) -> Any:
    if isinstance(edge, int):
        edge = t.zeros_like(diagonal(inner))
    return t.diagonal_scatter(inner, edge.to(inner._spec.dtype), 0, -2, -1)


declare(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> "
    "(Tensor U, Tensor S, Tensor Vh)",
    doc="The factors of A = U diag(S) Vh, or the singular values alone.",
    spec=_svd,
    vjp={"A": _svd_vjp},
    variants="function",
    raises_on_data="A",
)


@composite(
    "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> "
    "(Tensor U, Tensor S, Tensor Vh)",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_svd(A: Any, full_matrices: bool = True, driver: Any = None) -> Any:
    """The factors of A = U diag(S) Vh, singular values in falling order."""
    return tuple(t._linalg_svd(A, full_matrices, True, driver=driver))


@composite(
    "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_svdvals(A: Any, driver: Any = None) -> Any:
    """The singular values in falling order."""
    # Their gradient needs the vectors.
    return t._linalg_svd(A, False, A.requires_grad, driver=driver)[1]


@composite(
    "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
    variants="function method out",
)
def svd(self: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """The factors of `self` = U diag(S) V^H; without `compute_uv` the vectors are zeros."""
    expect_matrices(self._spec, "input")
    if compute_uv:
        u, s, vh = t.linalg_svd(self, not some)
        return u, s, vh.mH
    spec = self._spec
    rows, columns = spec.shape[-2:]
    places = {"dtype": spec.dtype, "device": spec.device}
    u = t.zeros((*spec.shape[:-2], rows, rows), **places)
    v = t.zeros((*spec.shape[:-2], columns, columns), **places)
    return u, t.linalg_svdvals(self), v
