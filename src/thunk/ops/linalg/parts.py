"""Cross products, traces and diagonals."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite, declare
from thunk.ops.pointwise.forms import conjugate
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes, wrap_dim
from thunk.types.dtype import INTEGRAL, bool_, int64, uint16, uint32, uint64
from thunk.types.promotion import promote_types
from thunk.types.spec import TensorSpec, make_spec

_UNSUPPORTED = frozenset({bool_, uint16, uint32, uint64})


def _cross(self: TensorSpec, other: TensorSpec, dim: int) -> TensorSpec:
    if self.ndim != other.ndim:
        raise Mismatch(
            f"inputs must have the same number of dimensions, got {self.ndim} and {other.ndim}"
        )
    place = wrap_dim(dim, self.ndim)
    sizes = [spec.shape[place] if spec.ndim else 0 for spec in (self, other)]
    if sizes != [3, 3]:
        raise Mismatch(f"inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}")
    element = promote_types(self.dtype, other.dtype)
    if element in _UNSUPPORTED:
        raise expected(
            "vectors of a signed, floating point or complex dtype", repr(element),
            "convert them with .to(...)", NotImplementedError,
        )  # fmt: skip
    return make_spec(broadcast_shapes([self.shape, other.shape]), element, self.device)


declare(
    "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    doc="The cross product of vectors of three elements along a dimension.",
    spec=_cross,
    vjp={
        "self": lambda grad, other, dim: t.linalg_cross(conjugate(other), grad, dim=dim),
        "other": lambda grad, self, dim: t.linalg_cross(grad, conjugate(self), dim=dim),
    },
    variants="function out",
    module="linalg",
)


@composite(
    "cross(Tensor self, Tensor other, int? dim=None) -> Tensor", variants="function method out"
)
def cross(self: Any, other: Any, dim: Any = None) -> Any:
    """The cross product along a dimension: by default the first that has three elements."""
    if dim is None:
        shape = self._spec.shape
        if 3 not in shape:
            raise Mismatch(f"no dimension of size 3 in input, got {list(shape)}")
        dim = shape.index(3)
    return t.linalg_cross(self, other, dim=dim)


def _trace(self: TensorSpec) -> TensorSpec:
    if self.ndim != 2:
        raise Mismatch(f"expected a matrix, but got tensor with dim {self.ndim}")
    if self.dtype in _UNSUPPORTED:
        raise expected(
            "a matrix of a signed, floating point or complex dtype", repr(self.dtype),
            "convert it with .to(...)", NotImplementedError,
        )  # fmt: skip
    element = int64 if self.dtype.category <= INTEGRAL else self.dtype
    return make_spec((), element, self.device)


def _trace_vjp(grad: Any, self_spec: TensorSpec) -> Any:
    return grad * t.eye(*self_spec.shape, dtype=grad._spec.dtype, device=self_spec.device)


declare(
    "trace(Tensor self) -> Tensor",
    doc="The sum of a matrix's diagonal.",
    spec=_trace,
    vjp={"self": _trace_vjp},
)


@composite(
    "linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
    variants="function", module="linalg",
)  # fmt: skip
def linalg_diagonal(A: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices, as a view."""
    return t.diagonal(A, offset, dim1, dim2)
