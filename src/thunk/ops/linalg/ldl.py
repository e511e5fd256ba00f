"""The LDL factorization of symmetric matrices, and solutions from it."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import composite, declare
from thunk.ops.linalg.checks import (
    batch_of,
    by_columns,
    by_rows,
    expect_inexact,
    expect_same_dtype,
    expect_square,
    expect_system,
)
from thunk.ops.registry import t
from thunk.types.dtype import int32
from thunk.types.spec import TensorSpec

_NO_GRADIENT = MissingGradient("PyTorch has none for the packed form; use linalg.solve")


def _ldl_factor(self: TensorSpec, hermitian: bool, check_errors: bool) -> tuple[TensorSpec, ...]:
    expect_square(self)
    expect_inexact(self)
    return (
        by_columns(self, self.shape),
        by_rows(self, self.shape[:-1], int32),
        by_rows(self, self.shape[:-2], int32),
    )


declare(
    "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> "
    "(Tensor LD, Tensor pivots, Tensor info)",
    doc="The packed factors of A = LDL^T with blocks of one or two in D, and the pivots.",
    spec=_ldl_factor,
    vjp=_NO_GRADIENT,
    variants="function out",
    module="linalg",
    raises_on_data="self",
)


@composite(
    "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_ldl_factor(self: Any, hermitian: bool = False) -> Any:
    """The packed factors of A = LDL^T with blocks of one or two in D, and the pivots."""
    found = t.linalg_ldl_factor_ex(self, hermitian=hermitian, check_errors=True)
    return found[0], found[1]


def _ldl_solve(LD: TensorSpec, pivots: TensorSpec, B: TensorSpec, hermitian: bool) -> TensorSpec:
    expect_square(LD, "LD")
    expect_inexact(LD)
    expect_system(LD, B, left=True)
    if pivots.ndim != LD.ndim - 1 or pivots.shape != LD.shape[:-1]:
        raise Mismatch(
            f"Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead of {list(LD.shape[:-1])}"
        )
    if pivots.dtype.is_inexact or pivots.dtype is not int32:
        raise Mismatch(f"Expected pivots to be integers of 32 bits. Got {pivots.dtype!r}")
    expect_same_dtype(LD, B, "LD and B")
    return by_columns(B, (*batch_of(LD, B), *B.shape[-2:]))


declare(
    "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    doc="The solution of AX = B from the packed factors of A.",
    spec=_ldl_solve,
    vjp=_NO_GRADIENT,
    variants="function out",
    module="linalg",
)
