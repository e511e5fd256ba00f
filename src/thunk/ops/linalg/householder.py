"""Products of Householder reflections, whole and applied to a matrix."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.linalg.checks import by_columns, expect_inexact, expect_matrices, expect_same_dtype
from thunk.ops.pointwise.forms import conjugate
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec


def _expect_reflections(input: TensorSpec, tau: TensorSpec) -> None:
    expect_matrices(input, "input")
    rows, columns = input.shape[-2:]
    if rows < columns:
        raise Mismatch(
            "input.shape[-2] must be greater than or equal to input.shape[-1], got "
            f"{rows} and {columns}"
        )
    if tau.ndim != input.ndim - 1:
        raise Mismatch(
            "Expected tau to have one dimension less than input, but got tau.ndim equal to "
            f"{tau.ndim} and input.ndim is equal to {input.ndim}"
        )
    if columns < tau.shape[-1]:
        raise Mismatch(
            "input.shape[-1] must be greater than or equal to tau.shape[-1], got "
            f"{columns} and {tau.shape[-1]}"
        )
    if tau.shape[:-1] != input.shape[:-2]:
        raise Mismatch(
            "Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau.shape[:-1])} instead of {list(input.shape[:-2])}"
        )
    expect_same_dtype(input, tau, "input and tau")
    expect_inexact(input, NotImplementedError)


def _product(input: TensorSpec, tau: TensorSpec) -> TensorSpec:
    _expect_reflections(input, tau)
    return by_columns(input, input.shape)


def _vector(input: Any, index: int) -> Any:
    """The Householder vector in column `index`: zeros, a one, then what the column holds."""
    rows, columns = input._spec.shape[-2:]
    tail = t.narrow(t.tril(input, -1), -1, index, 1)
    unit = t.eye(rows, columns, dtype=input._spec.dtype, device=input._spec.device)
    return tail + t.narrow(unit, -1, index, 1)


def _reflected(value: Any, vector: Any, scale: Any) -> Any:
    """`(1 - scale * vector vector^H) value`."""
    return value - scale * t.matmul(vector, t.matmul(vector.mH, value))


def reflections_gradient(grad: Any, input: Any, tau: Any) -> tuple[Any, Any]:
    """The gradients of the product of reflections, as wide as `grad`, in its vectors and scales."""
    rows, wide = grad._spec.shape[-2:]
    count, columns = tau._spec.shape[-1], input._spec.shape[-1]
    vectors = [_vector(input, index) for index in range(count)]
    scales = [t.unsqueeze(t.narrow(tau, -1, index, 1), -1) for index in range(count)]
    rest = t.eye(rows, wide, dtype=grad._spec.dtype, device=grad._spec.device)
    rest = rest.expand((*grad._spec.shape[:-2], rows, wide))
    behind = []  # what each reflection is applied to
    for vector, scale in zip(reversed(vectors), reversed(scales), strict=True):
        behind.append(rest)
        rest = _reflected(rest, vector, scale)
    to_vectors, to_scales = [], []
    for index, (vector, scale) in enumerate(zip(vectors, scales, strict=True)):
        right = behind[count - 1 - index]
        first = t.matmul(grad, t.matmul(right.mH, vector))
        second = t.matmul(right, t.matmul(grad.mH, vector))
        to_scales.append(-t.squeeze(t.matmul(vector.mH, first), -1))
        to_vectors.append(-(conjugate(scale) * first + scale * second))
        grad = _reflected(grad, vector, conjugate(scale))
    if not count:
        return t.zeros_like(input), t.zeros_like(tau)
    joined = t.constant_pad_nd(t.cat(to_vectors, -1), (0, columns - count))
    return t.tril(joined, -1), t.cat(to_scales, -1)


declare(
    "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
    doc="The first columns of the product of the reflections that `geqrf` packs.",
    spec=_product,
    vjp={("input", "tau"): reflections_gradient},
    variants="function out",
    module="linalg",
)
declare(
    "orgqr(Tensor self, Tensor input2) -> Tensor",
    doc="Another name of `linalg.householder_product`.",
    decompose=lambda self, input2: t.linalg_householder_product(self, input2),
    variants="function method out",
)


def _ormqr(
    self: TensorSpec, input2: TensorSpec, input3: TensorSpec, left: bool, transpose: bool
) -> TensorSpec:
    expect_matrices(self, "input")
    expect_matrices(input3, "other")
    side = -2 if left else -1
    if self.shape[-2] != input3.shape[side]:
        raise Mismatch(
            f"other.shape[{side}] must be equal to input.shape[-2], got {input3.shape[side]} and "
            f"{self.shape[-2]}"
        )
    if input2.shape[-1:] and input2.shape[-1] > self.shape[-1]:
        raise Mismatch(
            f"other.shape[{side}] must be greater than or equal to tau.shape[-1], got "
            f"{input2.shape[-1]} reflections for {self.shape[-1]} columns"
        )
    if input2.ndim != self.ndim - 1 or input3.ndim != self.ndim:
        raise Mismatch(
            "Expected tau to have one dimension less than input, and other as many as input, but "
            f"got {input2.ndim}, {input3.ndim} and {self.ndim}"
        )
    for name, batch in (("tau", input2.shape[:-1]), ("other", input3.shape[:-2])):
        if batch != self.shape[:-2]:
            raise Mismatch(
                f"Expected batch dimensions of {name} to be equal to input.shape[:-2], but got "
                f"{list(batch)}"
            )
    expect_same_dtype(self, input2, "input and tau")
    expect_same_dtype(self, input3, "input and other")
    expect_inexact(self, NotImplementedError)
    return by_columns(input3, input3.shape)


def _ormqr_vjp(
    grad: Any, self: Any, input2: Any, input3: Any, left: bool, transpose: bool, needed: Any
) -> tuple[Any, Any, Any]:
    to_other = t.ormqr(self, input2, grad, left, not transpose) if needed[2] else None
    if not (needed[0] or needed[1]):
        return None, None, to_other
    if left:
        to_q = t.matmul(input3, grad.mH) if transpose else t.matmul(grad, input3.mH)
    else:
        to_q = t.matmul(grad.mH, input3) if transpose else t.matmul(input3.mH, grad)
    to_input, to_tau = reflections_gradient(to_q, self, input2)
    return to_input, to_tau, to_other


declare(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False)"
    " -> Tensor",
    doc="The product of the packed reflections, or its adjoint, with a matrix on either side.",
    spec=_ormqr,
    vjp={("self", "input2", "input3"): _ormqr_vjp},
    variants="function method out",
)
