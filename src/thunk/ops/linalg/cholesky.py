"""The Cholesky factorization, and what is computed from its factor."""

from __future__ import annotations

from typing import Any

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
from thunk.ops.linalg.forms import lower_symmetric
from thunk.ops.registry import t
from thunk.types.dtype import int32
from thunk.types.spec import TensorSpec


def _cholesky_ex(self: TensorSpec, upper: bool, check_errors: bool) -> tuple[TensorSpec, ...]:
    expect_square(self)
    expect_inexact(self)
    return by_columns(self, self.shape), by_rows(self, self.shape[:-2], int32)


def _cholesky_vjp(grad: Any, result0: Any, upper: bool) -> Any:
    factor, grad = (result0.mH, grad.mH) if upper else (result0, grad)
    inner = lower_symmetric(t.matmul(factor.mH, grad))
    inner = t.linalg_solve_triangular(factor.mH, inner, upper=True)
    return t.linalg_solve_triangular(factor, inner, upper=False, left=False)


declare(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> "
    "(Tensor L, Tensor info)",
    doc="The Cholesky factor, and the first leading minor that is not positive-definite (or 0).",
    spec=_cholesky_ex,
    vjp={"self": _cholesky_vjp},
    variants="function out",
    module="linalg",
    raises_on_data="self",
)


@composite(
    "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_cholesky(self: Any, upper: bool = False) -> Any:
    """The triangular factor of a positive-definite matrix."""
    return t.linalg_cholesky_ex(self, upper=upper, check_errors=True)[0]


@composite("cholesky(Tensor self, bool upper=False) -> Tensor", variants="function method out")
def cholesky(self: Any, upper: bool = False) -> Any:
    """The triangular factor of a positive-definite matrix."""
    return t.linalg_cholesky_ex(self, upper=upper, check_errors=True)[0]


def _cholesky_inverse(self: TensorSpec, upper: bool) -> TensorSpec:
    expect_square(self)
    expect_inexact(self, NotImplementedError)
    return by_columns(self, self.shape)


def _cholesky_inverse_vjp(grad: Any, self: Any, result: Any, upper: bool) -> Any:
    common = t.matmul(t.matmul(result, grad + grad.mH), result)
    return -t.matmul(self, common) if upper else -t.matmul(common, self)


declare(
    "cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
    doc="The inverse of a matrix whose Cholesky factor is given.",
    spec=_cholesky_inverse,
    vjp={"self": _cholesky_inverse_vjp},
    variants="function method out",
    raises_on_data="self",
)


def _cholesky_solve(self: TensorSpec, input2: TensorSpec, upper: bool) -> TensorSpec:
    expect_system(input2, self, left=True)
    expect_same_dtype(self, input2, "B and the factor")
    expect_inexact(self, NotImplementedError)
    return by_columns(self, (*batch_of(self, input2), *self.shape[-2:]))


def _cholesky_solve_vjp(
    grad: Any, self: Any, input2: Any, result: Any, upper: bool, needed: Any
) -> tuple[Any, Any]:
    to_right_side = t.cholesky_solve(grad, input2, upper)
    if not needed[1]:
        return to_right_side, None
    common = t.matmul(to_right_side, result.mH)
    common = common + common.mH
    to_factor = t.matmul(input2, common) if upper else t.matmul(common, input2)
    return to_right_side, -to_factor


declare(
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    doc="The solution X of AX = B from B and the Cholesky factor of A.",
    spec=_cholesky_solve,
    vjp={("self", "input2"): _cholesky_solve_vjp},
    variants="function method out",
)
