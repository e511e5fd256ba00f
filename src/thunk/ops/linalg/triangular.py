"""Systems of equations with a triangular matrix."""

from __future__ import annotations

from typing import Any

from thunk.ops.declare import declare
from thunk.ops.linalg.checks import (
    batch_of,
    by_columns,
    expect_inexact,
    expect_same_dtype,
    expect_system,
)
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec


def triangle(value: Any, upper: bool, unitriangular: bool) -> Any:
    """The triangle that a solver reads."""
    return t.triu(value, int(unitriangular)) if upper else t.tril(value, -int(unitriangular))


def _solve_triangular(
    self: TensorSpec, B: TensorSpec, upper: bool, left: bool, unitriangular: bool
) -> TensorSpec:
    expect_system(self, B, left)
    expect_same_dtype(self, B, "A and B")
    expect_inexact(self, NotImplementedError)
    return by_columns(B, (*batch_of(self, B), *B.shape[-2:]))


def _solve_triangular_vjp(
    grad: Any, self: Any, result: Any, upper: bool, left: bool, unitriangular: bool, needed: Any
) -> tuple[Any, Any]:
    to_b = t.linalg_solve_triangular(
        self.mH, grad, upper=not upper, left=left, unitriangular=unitriangular
    )
    if not needed[0]:
        return None, to_b
    product = t.matmul(to_b, result.mH) if left else t.matmul(result.mH, to_b)
    return triangle(-product, upper, unitriangular), to_b


declare(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, "
    "bool unitriangular=False) -> Tensor",
    doc="The solution of AX = B, or XA = B, with a triangular A.",
    spec=_solve_triangular,
    vjp={("self", "B"): _solve_triangular_vjp},
    variants="function out",
    module="linalg",
)


def _triangular_solve(
    self: TensorSpec, A: TensorSpec, upper: bool, transpose: bool, unitriangular: bool
) -> tuple[TensorSpec, TensorSpec]:
    expect_system(A, self, left=True)
    expect_same_dtype(self, A, "b and A")
    expect_inexact(self, NotImplementedError)
    batch = batch_of(self, A)
    return (
        by_columns(self, (*batch, *self.shape[-2:])),
        by_columns(A, (*batch, *A.shape[-2:])),
    )


def _triangular_solve_vjp(
    grads: Any, A: Any, result0: Any, upper: bool, transpose: bool, unitriangular: bool,
    needed: Any,
) -> tuple[Any, Any]:  # fmt: skip
    grad, grad_copy = grads
    to_b = to_a = None
    if grad is not None:
        conjugated = A.conj() if A._spec.dtype.is_complex else A
        to_b = t.triangular_solve(grad, conjugated, upper, not transpose, unitriangular)[0]
        if needed[1]:
            product = t.matmul(to_b, result0.mH)
            turned = product.mT if transpose else product
            to_a = triangle(-turned, upper, unitriangular)
    if grad_copy is not None and needed[1]:
        to_a = grad_copy if to_a is None else to_a + grad_copy
    return to_b, to_a


declare(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, "
    "bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
    doc="The solution X of AX = b with a triangular A, and a copy of A.",
    spec=_triangular_solve,
    vjp={("self", "A"): _triangular_solve_vjp},
    variants="function method out",
)
