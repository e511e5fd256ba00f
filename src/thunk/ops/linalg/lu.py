"""The LU factorization, packed and unpacked, and solutions from it."""

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
    expect_system,
)
from thunk.ops.linalg.forms import (
    first_columns,
    first_rows,
    last_columns,
    last_rows,
    total,
)
from thunk.ops.registry import t
from thunk.types.dtype import int32
from thunk.types.spec import TensorSpec


def _packed(A: TensorSpec, pivot: bool, check_errors: bool) -> tuple[TensorSpec, ...]:
    expect_matrices(A)
    expect_inexact(A, NotImplementedError)
    batch, size = A.shape[:-2], min(A.shape[-2:])
    return (
        by_columns(A, A.shape),
        by_rows(A, (*batch, size), int32),
        by_rows(A, batch, int32),
    )


def _unpacked(A: TensorSpec, pivot: bool) -> tuple[TensorSpec, ...]:
    expect_matrices(A)
    expect_inexact(A, NotImplementedError)
    batch, (rows, columns) = A.shape[:-2], A.shape[-2:]
    size = min(rows, columns)
    return (
        by_rows(A, (*batch, rows, rows) if pivot else (0,)),
        by_rows(A, (*batch, rows, size)),
        by_rows(A, (*batch, size, columns)),
    )


def factors_gradient(grad_lower: Any, grad_upper: Any, lower: Any, upper: Any, order: Any) -> Any:
    """The gradient of A = order @ lower @ upper from those of the factors; either may be None.

    Where A is not square, the part of the factor beyond the square is a solution, and sends what
    it means for the square part back through the other factor.
    """
    rows, columns = lower._spec.shape[-2], upper._spec.shape[-1]
    size = min(rows, columns)
    square_lower, square_upper = first_rows(lower, size), first_columns(upper, size)
    below: list[Any] = []
    above: list[Any] = []
    beyond = None
    if grad_lower is not None:
        below.append(t.matmul(square_lower.mH, first_rows(grad_lower, size)))
    if grad_upper is not None:
        above.append(t.matmul(first_columns(grad_upper, size), square_upper.mH))
    if columns > rows and grad_upper is not None:
        beyond = last_columns(grad_upper, size)
        below.append(-t.matmul(beyond, last_columns(upper, size).mH))
        beyond = t.linalg_solve_triangular(square_lower.mH, beyond, upper=True, unitriangular=True)
    if rows > columns and grad_lower is not None:
        beyond = last_rows(grad_lower, size)
        above.append(-t.matmul(last_rows(lower, size).mH, beyond))
        beyond = t.linalg_solve_triangular(square_upper.mH, beyond, upper=False, left=False)
    middle = total([
        t.tril(total(below), -1) if below else None, t.triu(total(above)) if above else None
    ])  # fmt: skip
    inner = t.linalg_solve_triangular(square_upper.mH, middle, upper=False, left=False)
    inner = t.linalg_solve_triangular(square_lower.mH, inner, upper=True, unitriangular=True)
    inner = _joined(inner, beyond, rows, columns)
    return t.matmul(order, inner) if order is not None else inner


def _joined(inner: Any, beyond: Any, rows: int, columns: int) -> Any:
    if rows == columns:
        return inner
    if beyond is None:
        missing = (*inner._spec.shape[:-2], abs(rows - columns), min(rows, columns))
        shape = missing if rows > columns else (*missing[:-2], missing[-1], missing[-2])
        beyond = t.zeros(shape, dtype=inner._spec.dtype, device=inner._spec.device)
    return t.cat([inner, beyond], -2 if rows > columns else -1)


def _factor_vjp(grad: Any, result0: Any, result1: Any, pivot: bool) -> Any:
    order, lower, upper = t.lu_unpack(result0, result1, True, pivot)
    rows, columns = result0._spec.shape[-2:]
    size = min(rows, columns)
    return factors_gradient(
        t.tril(first_columns(grad, size), -1), t.triu(first_rows(grad, size)), lower, upper,
        order if pivot else None,
    )  # fmt: skip


declare(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> "
    "(Tensor LU, Tensor pivots, Tensor info)",
    doc="Both triangular factors in one matrix, the row swaps, and the first zero pivot (or 0).",
    spec=_packed,
    vjp={"A": _factor_vjp},
    variants="function out",
    module="linalg",
    raises_on_data="A",
)


@composite(
    "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_lu_factor(A: Any, pivot: bool = True) -> Any:
    """Both triangular factors in one matrix, and the row swaps."""
    factors, pivots, _ = t.linalg_lu_factor_ex(A, pivot=pivot, check_errors=True)
    return factors, pivots


def _lu_vjp(grads: Any, result0: Any, result1: Any, result2: Any, pivot: bool) -> Any:
    _, grad_lower, grad_upper = grads
    if grad_lower is None and grad_upper is None:
        return None
    order = result0 if pivot else None
    return factors_gradient(grad_lower, grad_upper, result1, result2, order)


declare(
    "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    doc="The factors of A = PLU: a permutation, a lower and an upper triangle.",
    spec=_unpacked,
    vjp={"A": _lu_vjp},
    variants="function out",
    module="linalg",
)


def _lu_unpack(
    LU_data: TensorSpec, LU_pivots: TensorSpec, unpack_data: bool, unpack_pivots: bool
) -> tuple[TensorSpec, ...]:
    expect_matrices(LU_data, "LU_data")
    if unpack_pivots and LU_pivots.dtype is not int32:
        raise Mismatch(
            f"LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, got "
            f"{LU_pivots.dtype!r}; note: this function is intended to be used with the output "
            "produced by torch.linalg.lu_factor"
        )
    batch, (rows, columns) = LU_data.shape[:-2], LU_data.shape[-2:]
    size = min(rows, columns)
    empty = by_rows(LU_data, (0,))
    return (
        by_rows(LU_data, (*batch, rows, rows)) if unpack_pivots else empty,
        by_rows(LU_data, (*batch, rows, size)) if unpack_data else empty,
        by_rows(LU_data, (*batch, size, columns)) if unpack_data else empty,
    )


def _lu_unpack_vjp(grads: Any, LU_data_spec: Any, unpack_data: bool) -> Any:
    _, grad_lower, grad_upper = grads
    if not unpack_data:
        return None
    rows, columns = LU_data_spec.shape[-2:]
    parts = []
    if grad_lower is not None:
        lower = t.tril(grad_lower, -1)
        parts.append(t.constant_pad_nd(lower, (0, max(columns - rows, 0))))
    if grad_upper is not None:
        upper = t.triu(grad_upper)
        parts.append(t.constant_pad_nd(upper, (0, 0, 0, max(rows - columns, 0))))
    return total(parts)


declare(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True)"
    " -> (Tensor P, Tensor L, Tensor U)",
    doc="The permutation and the triangular factors that `lu_factor` packed.",
    spec=_lu_unpack,
    vjp={"LU_data": _lu_unpack_vjp},
    variants="function out",
    raises_on_data="LU_pivots",
)


def _lu_solve(
    LU: TensorSpec, pivots: TensorSpec, B: TensorSpec, left: bool, adjoint: bool
) -> TensorSpec:
    expect_inexact(LU)
    expect_system(LU, B, left)
    expect_same_dtype(LU, B, "LU and B")
    if pivots.dtype is not int32:
        raise Mismatch(
            f"pivots should be a Tensor of scalar type torch.int32, got {pivots.dtype!r}"
        )
    if pivots.ndim == 0 or pivots.shape[-1] != LU.shape[-1]:
        raise Mismatch(
            "Number of pivots per batch should be same as the dimension of the matrix, got "
            f"{list(pivots.shape)} for {list(LU.shape)}"
        )
    if LU.shape[:-1] != pivots.shape:
        raise Mismatch(
            f"Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead of {list(LU.shape[:-1])}"
        )
    return by_columns(B, (*batch_of(LU, B), *B.shape[-2:]))


def _lu_solve_vjp(
    grad: Any, LU: Any, pivots: Any, result: Any, left: bool, adjoint: bool, needed: Any
) -> tuple[Any, Any]:
    to_b = t.linalg_lu_solve(LU, pivots, grad, left=left, adjoint=not adjoint)
    if not needed[0]:
        return None, to_b
    order, lower, upper = t.lu_unpack(LU, pivots)
    # The gradient of the matrix that the factors stand for, its rows in the factors' order.
    if adjoint:
        first, second = (result, to_b.mH) if left else (to_b.mH, result)
    else:
        first, second = (to_b, result.mH) if left else (result.mH, to_b)
    first = -t.matmul(order.mT, first)
    to_lower = t.matmul(first, t.matmul(second, upper.mH))
    to_upper = t.matmul(t.matmul(lower.mH, first), second)
    return t.tril(to_lower, -1) + t.triu(to_upper), to_b


declare(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False)"
    " -> Tensor",
    doc="The solution of AX = B (or XA = B, or of the adjoint of A) from the packed factors of A.",
    spec=_lu_solve,
    vjp={("LU", "B"): _lu_solve_vjp},
    variants="function out",
    module="linalg",
)


@composite(
    "lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
    variants="function method out",
)
def lu_solve(self: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """The solution X of AX = `self` from the packed factors of A."""
    return t.linalg_lu_solve(LU_data, LU_pivots, self)


@composite(
    "_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> "
    "(Tensor LU, Tensor pivots, Tensor info)",
    variants="function",
)
def lu_with_info(self: Any, pivot: bool = True, check_errors: bool = True) -> Any:
    """`linalg_lu_factor_ex` under its older name."""
    return tuple(t.linalg_lu_factor_ex(self, pivot=pivot, check_errors=check_errors))


@composite("lu(Tensor self, bool pivot=True, bool get_infos=False, Any? out=None) -> Any")
def lu(self: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """The packed factors and the row swaps; with `get_infos` the first zero pivots too."""
    found = t._lu_with_info(self, pivot, not get_infos)
    results = found if get_infos else (found[0], found[1])
    if out is None:
        return results
    if len(out) != len(results):
        raise Mismatch(f"expected {len(results)} out tensors, got {len(out)}", TypeError)
    for target, value in zip(out, results, strict=True):
        target.resize_(value._spec.shape).copy_(value)
    return out
