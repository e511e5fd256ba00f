"""Systems of linear equations, and inverses."""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.linalg.checks import (
    by_columns,
    by_rows,
    expect_inexact,
    expect_same_dtype,
    expect_square,
    expect_system,
)
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes
from thunk.types.dtype import int32
from thunk.types.spec import TensorSpec


def is_vector_side(A: TensorSpec, B: TensorSpec) -> bool:
    """Whether B is a batch of vectors rather than of matrices."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def _solve(A: TensorSpec, B: TensorSpec, left: bool, check_errors: bool) -> tuple[TensorSpec, ...]:
    expect_inexact(A)
    expect_same_dtype(A, B, "A and B")
    expect_square(A)
    if is_vector_side(A, B):
        if not left:
            raise Mismatch(
                "Vector broadcasting of the left hand side is not supported for left=False; "
                "in this case linalg.solve is equivalent to B / A.squeeze(-1)"
            )
        column = by_rows(B, (*B.shape, 1))
        expect_system(A, column, left)
        batch = broadcast_shapes([A.shape[:-2], B.shape[:-1]])
        result = by_rows(B, (*batch, A.shape[-1]))
    else:
        expect_system(A, B, left)
        batch = broadcast_shapes([A.shape[:-2], B.shape[:-2]])
        result = by_columns(B, (*batch, *B.shape[-2:]))
    return (
        result,
        by_columns(A, A.shape),
        by_rows(A, A.shape[:-1], int32),
        by_rows(A, A.shape[:-2], int32),
    )


def _solve_vjp(
    grad: Any, A: Any, B_spec: Any, result0: Any, left: bool, needed: Any
) -> tuple[Any, Any]:
    vector = is_vector_side(A._spec, B_spec)
    if vector:
        grad, result0 = t.unsqueeze(grad, -1), t.unsqueeze(result0, -1)
    to_b = t._linalg_solve_ex(A.mH, grad, left=left)[0]
    to_a = None
    if needed[0]:
        to_a = -(t.matmul(to_b, result0.mH) if left else t.matmul(result0.mH, to_b))
    return to_a, t.squeeze(to_b, -1) if vector else to_b


declare(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
    "(Tensor result, Tensor LU, Tensor pivots, Tensor info)",
    doc="The solution of AX = B (or XA = B), the packed factors of A, and the first zero pivot.",
    spec=_solve,
    vjp={("A", "B"): _solve_vjp},
    variants="",
    raises_on_data="A",
)


@composite(
    "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
    "(Tensor result, Tensor info)",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_solve_ex(A: Any, B: Any, left: bool = True, check_errors: bool = False) -> Any:
    """The solution of AX = B (or XA = B), and the first zero pivot of A (or 0)."""
    found = t._linalg_solve_ex(A, B, left=left, check_errors=check_errors)
    return found[0], found[3]


@composite(
    "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_solve(A: Any, B: Any, left: bool = True) -> Any:
    """The solution of AX = B (or XA = B); B may be a batch of vectors."""
    return t._linalg_solve_ex(A, B, left=left, check_errors=True)[0]


def _inverse(A: TensorSpec, check_errors: bool) -> tuple[TensorSpec, TensorSpec]:
    expect_square(A)
    expect_inexact(A, low=RuntimeError)
    return by_columns(A, A.shape), by_rows(A, A.shape[:-2], int32)


declare(
    "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    doc="The inverse of a square matrix, and its first zero pivot (or 0).",
    spec=_inverse,
    vjp={"A": lambda grad, result0: -t.matmul(result0.mH, t.matmul(grad, result0.mH))},
    variants="function out",
    module="linalg",
    raises_on_data="A",
)


@composite("linalg_inv(Tensor A) -> Tensor", variants="function out", module="linalg")
def linalg_inv(A: Any) -> Any:
    """The inverse of a square matrix."""
    return t.linalg_inv_ex(A, check_errors=True)[0]


@composite("inverse(Tensor self) -> Tensor", variants="function method out")
def inverse(self: Any) -> Any:
    """The inverse of a square matrix."""
    return t.linalg_inv_ex(self, check_errors=True)[0]


@composite(
    "linalg_tensorinv(Tensor self, int ind=2) -> Tensor", variants="function out", module="linalg"
)
def linalg_tensorinv(self: Any, ind: int = 2) -> Any:
    """The inverse of `tensordot` with `self` over its last dimensions."""
    if ind <= 0:
        raise Mismatch(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = self._spec.shape
    head, tail = shape[:ind], shape[ind:]
    rows, columns = math.prod(tail), math.prod(head)
    if rows != columns:
        raise Mismatch(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {rows} != {columns}"
        )
    inverse_matrix = t.linalg_inv(t.reshape(self, (columns, rows)))
    return t.reshape(inverse_matrix, (*tail, *head))


@composite(
    "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_tensorsolve(self: Any, other: Any, dims: Any = None) -> Any:
    """The solution X of `tensordot(self, X, X.ndim) == other`."""
    ndim = self._spec.ndim
    if dims is not None:
        self = t.movedim(self, dims, list(range(ndim - len(dims), ndim)))
    shape = self._spec.shape[other._spec.ndim :]
    size, count = math.prod(shape), other._spec.numel
    if size * count != self._spec.numel or size != count:
        raise Mismatch(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {size} != {count}"
        )
    solution = t.linalg_solve(t.reshape(self, (count, size)), t.reshape(other, (-1,)))
    return t.reshape(solution, shape)
