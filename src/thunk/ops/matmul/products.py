"""Products of two vectors, of a matrix and a vector, of two matrices and of batches of matrices."""

from __future__ import annotations

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.matmul.checks import expect_ndim, expect_product_dtypes
from thunk.ops.pointwise.forms import conjugate
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec, make_spec

_FORMS = "function method out"


def mm_shape(self: TensorSpec, mat2: TensorSpec) -> tuple[int, int]:
    """The shape of a product of matrices."""
    expect_ndim(self, 2, "mat1")
    expect_ndim(mat2, 2, "mat2")
    if self.shape[1] != mat2.shape[0]:
        raise Mismatch(
            f"mat1 and mat2 shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and "
            f"{mat2.shape[0]}x{mat2.shape[1]})"
        )
    return self.shape[0], mat2.shape[1]


def bmm_shape(self: TensorSpec, mat2: TensorSpec) -> tuple[int, int, int]:
    """The shape of the products of two batches of matrices."""
    expect_ndim(self, 3, "batch1")
    expect_ndim(mat2, 3, "batch2")
    wanted = [self.shape[0], self.shape[2]]
    if list(mat2.shape[:2]) != wanted:
        raise Mismatch(
            f"Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: "
            f"{list(mat2.shape[:2])}."
        )
    return self.shape[0], self.shape[1], mat2.shape[2]


def mv_shape(mat: TensorSpec, vec: TensorSpec) -> tuple[int]:
    """The shape of the product of a matrix and a vector."""
    if mat.ndim != 2 or vec.ndim != 1:
        raise Mismatch(
            f"vector + matrix @ vector expected, got mat {list(mat.shape)}, vec {list(vec.shape)}"
        )
    if mat.shape[1] != vec.shape[0]:
        raise Mismatch(
            f"size mismatch, got mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    return (mat.shape[0],)


def _mm(self: TensorSpec, mat2: TensorSpec) -> TensorSpec:
    shape = mm_shape(self, mat2)
    expect_product_dtypes(self, mat2)
    return make_spec(shape, self.dtype, self.device)


def _bmm(self: TensorSpec, mat2: TensorSpec) -> TensorSpec:
    shape = bmm_shape(self, mat2)
    expect_product_dtypes(self, mat2)
    return make_spec(shape, self.dtype, self.device)


def _mv(self: TensorSpec, vec: TensorSpec) -> TensorSpec:
    shape = mv_shape(self, vec)
    expect_product_dtypes(self, vec)
    return make_spec(shape, self.dtype, self.device)


def _dot(self: TensorSpec, tensor: TensorSpec) -> TensorSpec:
    if self.ndim != 1 or tensor.ndim != 1:
        raise Mismatch(f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors")
    expect_product_dtypes(self, tensor)
    if self.shape != tensor.shape:
        raise Mismatch(
            f"inconsistent tensor size, expected tensor {list(self.shape)} and src "
            f"{list(tensor.shape)} to have the same number of elements, but got "
            f"{self.numel} and {tensor.numel} elements respectively"
        )
    return make_spec((), self.dtype, self.device)


declare(
    "mm(Tensor self, Tensor mat2) -> Tensor",
    doc="The product of two matrices.",
    spec=_mm,
    vjp={
        "self": lambda grad, mat2: t.mm(grad, mat2.mH),
        "mat2": lambda grad, self: t.mm(self.mH, grad),
    },
    variants=_FORMS,
    autocast="lower",
)
declare(
    "bmm(Tensor self, Tensor mat2) -> Tensor",
    doc="The products of two batches of matrices.",
    spec=_bmm,
    vjp={
        "self": lambda grad, mat2: t.bmm(grad, mat2.mH),
        "mat2": lambda grad, self: t.bmm(self.mH, grad),
    },
    variants=_FORMS,
    autocast="lower",
)
declare(
    "mv(Tensor self, Tensor vec) -> Tensor",
    doc="The product of a matrix and a vector.",
    spec=_mv,
    vjp={
        "self": lambda grad, vec: t.outer(grad, conjugate(vec)),
        "vec": lambda grad, self: t.mv(self.mH, grad),
    },
    variants=_FORMS,
    autocast="lower",
)
declare(
    "dot(Tensor self, Tensor tensor) -> Tensor",
    doc="The sum of the products of two vectors' elements.",
    spec=_dot,
    vjp={
        "self": lambda grad, tensor: grad * conjugate(tensor),
        "tensor": lambda grad, self: grad * conjugate(self),
    },
    variants=_FORMS,
)
declare(
    "vdot(Tensor self, Tensor other) -> Tensor",
    doc="The sum of the products of two vectors' elements, the first conjugated.",
    spec=_dot,
    vjp={
        "self": lambda grad, other: conjugate(grad) * other,
        "other": lambda grad, self: grad * self,
    },
    variants=_FORMS,
)
