"""The product of two matrices."""

from __future__ import annotations

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import declare
from thunk.ops.pointwise.arithmetic import conjugate
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec, make_spec


def _mm(self: TensorSpec, mat2: TensorSpec) -> TensorSpec:
    if self.ndim != 2 or mat2.ndim != 2:
        raise expected("matrices (2 dimensions)", f"{self.ndim}D and {mat2.ndim}D")
    if self.shape[1] != mat2.shape[0]:
        raise Mismatch(
            f"mat1 and mat2 shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and "
            f"{mat2.shape[0]}x{mat2.shape[1]})"
        )
    if self.dtype is not mat2.dtype:
        raise expected("mat1 and mat2 to have the same dtype", f"{self.dtype!r} != {mat2.dtype!r}")
    return make_spec((self.shape[0], mat2.shape[1]), self.dtype, self.device)


declare(
    "mm(Tensor self, Tensor mat2) -> Tensor",
    doc="The product of two matrices.",
    spec=_mm,
    vjp={
        "self": lambda grad, mat2: t.mm(grad, conjugate(mat2.t())),
        "mat2": lambda grad, self: t.mm(conjugate(self.t()), grad),
    },
    variants="function method out",
    autocast="lower",
)
