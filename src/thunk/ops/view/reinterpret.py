"""Views that read the same memory as another dtype: bits, complex as pairs, parts of complex."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.types.dtype import dtype as dtype_type
from thunk.types.dtype import float32, float64
from thunk.types.spec import TensorSpec


def _same_bits(self: TensorSpec, dtype: dtype_type) -> TensorSpec:
    have, want = self.dtype.itemsize, dtype.itemsize
    if have == want:
        return self.with_dtype(dtype)
    if not self.shape:
        raise Mismatch(
            f"self.dim() cannot be 0 to view {self.dtype!r} as {dtype!r} (different element sizes)"
        )
    if self.strides[-1] != 1:
        raise Mismatch(
            f"self.stride(-1) must be 1 to view {self.dtype!r} as {dtype!r} (different element "
            f"sizes), but got {self.strides[-1]}"
        )
    return _narrower(self, dtype) if have > want else _wider(self, dtype)


def _narrower(self: TensorSpec, dtype: dtype_type) -> TensorSpec:
    ratio = self.dtype.itemsize // dtype.itemsize
    return TensorSpec(
        (*self.shape[:-1], self.shape[-1] * ratio), dtype,
        (*[stride * ratio for stride in self.strides[:-1]], 1),
        self.offset * ratio, self.device,
    )  # fmt: skip


def _wider(self: TensorSpec, dtype: dtype_type) -> TensorSpec:
    ratio = dtype.itemsize // self.dtype.itemsize
    facts = {
        "self.size(-1)": self.shape[-1],
        "self.storage_offset()": self.offset,
        **{f"self.stride({d})": stride for d, stride in enumerate(self.strides[:-1])},
    }
    for name, value in facts.items():
        if value % ratio:
            raise Mismatch(
                f"{name} must be divisible by {ratio} to view {self.dtype!r} as {dtype!r} "
                f"(different element sizes), but got {value}"
            )
    return TensorSpec(
        (*self.shape[:-1], self.shape[-1] // ratio), dtype,
        (*[stride // ratio for stride in self.strides[:-1]], 1),
        self.offset // ratio, self.device,
    )  # fmt: skip


declare(
    "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
    doc="The same bits read as another dtype.",
    spec=_same_bits,
    vjp=NoGradient("bits have no derivative"),
    view=True,
    variants="method",
)


def _as_real(self: TensorSpec) -> TensorSpec:
    if not self.dtype.is_complex:
        raise Mismatch(
            f"view_as_real is only supported for complex tensors, got {self.dtype!r}; use "
            "view_as_complex() first"
        )
    strides = (*[2 * stride for stride in self.strides], 1)
    return TensorSpec(
        (*self.shape, 2), self.dtype.to_real(), strides, 2 * self.offset, self.device
    )


declare(
    "view_as_real(Tensor(a) self) -> Tensor(a)",
    doc="Complex numbers as pairs of reals in a last dimension of two.",
    spec=_as_real,
    vjp={"self": lambda grad: t.view_as_complex(grad.contiguous())},
    view=True,
    variants="function",
)


def _as_complex(self: TensorSpec) -> TensorSpec:
    if self.dtype not in (float32, float64):
        raise Mismatch(
            "view_as_complex is only supported for float and double tensors, but got a tensor of "
            f"dtype {self.dtype!r}; convert it with .float()"
        )
    if not self.shape:
        raise Mismatch("Input tensor must have one or more dimensions")
    if self.shape[-1] != 2:
        raise Mismatch(f"Tensor must have a last dimension of size 2, got {self.shape[-1]}")
    if self.strides[-1] != 1:
        raise Mismatch(
            f"Tensor must have a last dimension with stride 1, got {self.strides[-1]}; call "
            ".contiguous()"
        )
    if any(stride % 2 for stride in self.strides[:-1]):
        raise Mismatch(
            "Tensor must have a stride divisible by 2 for all but last dimension, got "
            f"{self.strides}; call .contiguous()"
        )
    if self.offset % 2:
        raise Mismatch(
            f"Tensor must have a storage_offset divisible by 2, got {self.offset}; call .clone()"
        )
    strides = tuple(stride // 2 for stride in self.strides[:-1])
    return TensorSpec(
        self.shape[:-1], self.dtype.to_complex(), strides, self.offset // 2, self.device
    )


declare(
    "view_as_complex(Tensor(a) self) -> Tensor(a)",
    doc="Pairs of reals as complex numbers.",
    spec=_as_complex,
    vjp={"self": lambda grad: t.view_as_real(grad.contiguous())},
    view=True,
    variants="function",
)


@composite("real(Tensor(a) self) -> Tensor(a)", variants="function property")
def real(self: Any) -> Any:
    """The real part, a view; `self` where it is real already."""
    if not self._spec.dtype.is_complex:
        return self
    return t.select(t.view_as_real(self), -1, 0)


@composite("imag(Tensor(a) self) -> Tensor(a)", variants="function property")
def imag(self: Any) -> Any:
    """The imaginary part, a view."""
    if not self._spec.dtype.is_complex:
        raise Mismatch(
            f"imag is not implemented for tensors with non-complex dtypes, got {self._spec.dtype!r}"
        )
    return t.select(t.view_as_real(self), -1, 1)

