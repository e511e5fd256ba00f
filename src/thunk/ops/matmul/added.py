"""Products added to a tensor: `beta * self + alpha * product`."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.matmul.checks import expect_addend, expect_ndim, expect_product_dtypes
from thunk.ops.matmul.products import bmm_shape, mm_shape, mv_shape
from thunk.ops.pointwise.forms import EVERY_FORM, conjugate
from thunk.ops.registry import t
from thunk.types.dtype import INTEGRAL, dtype
from thunk.types.promotion import promote_types
from thunk.types.spec import TensorSpec, make_spec

_SCALES = "*, Scalar beta=1, Scalar alpha=1"


def _check_scales(element: dtype, beta: Any, alpha: Any) -> None:
    for name, value in (("beta", beta), ("alpha", alpha)):
        if isinstance(value, complex) and not element.is_complex:
            raise Mismatch(
                f"For non-complex input tensors, argument {name} must not be a complex number, "
                f"got {value}"
            )
        if isinstance(value, float) and element.category <= INTEGRAL:
            raise Mismatch(
                f"For integral input tensors, argument {name} must not be a floating point number"
            )


def _sum_spec(
    self: TensorSpec, first: TensorSpec, second: TensorSpec, shape: tuple[int, ...]
) -> TensorSpec:
    expect_addend(self, shape)
    expect_product_dtypes(self, first, second)
    return make_spec(shape, self.dtype, self.device)


def _addmm(self: TensorSpec, mat1: TensorSpec, mat2: TensorSpec, beta: Any, alpha: Any) -> Any:
    return _sum_spec(self, mat1, mat2, mm_shape(mat1, mat2))


def _addmv(self: TensorSpec, mat: TensorSpec, vec: TensorSpec, beta: Any, alpha: Any) -> Any:
    found = _sum_spec(self, mat, vec, mv_shape(mat, vec))
    _check_scales(self.dtype, beta, alpha)
    return found


def _baddbmm(
    self: TensorSpec, batch1: TensorSpec, batch2: TensorSpec, beta: Any, alpha: Any
) -> Any:
    return _sum_spec(self, batch1, batch2, bmm_shape(batch1, batch2))


def _addbmm(self: TensorSpec, batch1: TensorSpec, batch2: TensorSpec, beta: Any, alpha: Any) -> Any:
    return _sum_spec(self, batch1, batch2, bmm_shape(batch1, batch2)[1:])


def _addr(self: TensorSpec, vec1: TensorSpec, vec2: TensorSpec, beta: Any, alpha: Any) -> Any:
    expect_ndim(vec1, 1, "vec1")
    expect_ndim(vec2, 1, "vec2")
    shape = (vec1.shape[0], vec2.shape[0])
    expect_addend(self, shape)
    element = promote_types(self.dtype, promote_types(vec1.dtype, vec2.dtype))
    _check_scales(element, beta, alpha)
    return make_spec(shape, element, self.device)


def scaled(value: Any, factor: Any) -> Any:
    """`value` times the conjugate of a number; most numbers here are one."""
    return value if factor == 1 else value * conjugate(factor)


def _vjp(first: str, second: str, to_first: Any, to_second: Any) -> dict[str, Any]:
    return {"self": lambda grad, beta: scaled(grad, beta), first: to_first, second: to_second}


declare(
    f"addmm(Tensor self, Tensor mat1, Tensor mat2, {_SCALES}) -> Tensor",
    doc="`beta * self + alpha * (mat1 @ mat2)`.",
    spec=_addmm,
    vjp=_vjp(
        "mat1", "mat2",
        lambda grad, mat2, alpha: scaled(t.mm(grad, mat2.mH), alpha),
        lambda grad, mat1, alpha: scaled(t.mm(mat1.mH, grad), alpha),
    ),
    variants=EVERY_FORM,
    static="beta alpha",
    autocast="lower",
)  # fmt: skip
declare(
    f"addmv(Tensor self, Tensor mat, Tensor vec, {_SCALES}) -> Tensor",
    doc="`beta * self + alpha * (mat @ vec)`.",
    spec=_addmv,
    vjp=_vjp(
        "mat", "vec",
        lambda grad, vec, alpha: scaled(t.outer(grad, conjugate(vec)), alpha),
        lambda grad, mat, alpha: scaled(t.mv(mat.mH, grad), alpha),
    ),
    variants=EVERY_FORM,
    autocast="lower",
)  # fmt: skip
declare(
    f"baddbmm(Tensor self, Tensor batch1, Tensor batch2, {_SCALES}) -> Tensor",
    doc="`beta * self + alpha * (batch1 @ batch2)` of batches of matrices.",
    spec=_baddbmm,
    vjp=_vjp(
        "batch1", "batch2",
        lambda grad, batch2, alpha: scaled(t.bmm(grad, batch2.mH), alpha),
        lambda grad, batch1, alpha: scaled(t.bmm(batch1.mH, grad), alpha),
    ),
    variants=EVERY_FORM,
    static="beta alpha",
    autocast="lower",
)  # fmt: skip
declare(
    f"addbmm(Tensor self, Tensor batch1, Tensor batch2, {_SCALES}) -> Tensor",
    doc="`beta * self + alpha * sum(batch1 @ batch2)`, summed over the batch.",
    spec=_addbmm,
    vjp=_vjp(
        "batch1", "batch2",
        lambda grad, batch2, alpha: scaled(t.matmul(grad, batch2.mH), alpha),
        lambda grad, batch1, alpha: scaled(t.matmul(batch1.mH, grad), alpha),
    ),
    variants=EVERY_FORM,
    autocast="lower",
)  # fmt: skip
declare(
    f"addr(Tensor self, Tensor vec1, Tensor vec2, {_SCALES}) -> Tensor",
    doc="`beta * self + alpha * outer(vec1, vec2)`.",
    spec=_addr,
    vjp=_vjp(
        "vec1", "vec2",
        lambda grad, vec2, alpha: scaled(_product(grad, conjugate(vec2)), alpha),
        lambda grad, vec1, alpha: scaled(_product(grad.t(), conjugate(vec1)), alpha),
    ),
    variants=EVERY_FORM,
)  # fmt: skip


def _product(matrix: Any, vector: Any) -> Any:
    """A matrix times a vector of perhaps another dtype."""
    element = promote_types(matrix._spec.dtype, vector._spec.dtype)
    return t.mv(matrix.to(element), vector.to(element))
