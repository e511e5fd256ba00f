"""Enters: specs of the operands of a product. Leaves: nothing, or PyTorch's complaint.

Invariant: every product refuses other ranks, mixed dtypes and dtypes without arithmetic here.
"""

from __future__ import annotations

from thunk.base.errors import Mismatch, expected
from thunk.ops.rules.dims import broadcast_shapes
from thunk.types.dtype import bool_, uint16, uint32, uint64
from thunk.types.spec import TensorSpec

_NO_PRODUCTS = frozenset({bool_, uint16, uint32, uint64})


def expect_ndim(spec: TensorSpec, ndim: int, name: str) -> None:
    """Refuse an operand of another rank; `name` is what the message calls it."""
    if spec.ndim != ndim:
        raise Mismatch(
            f"{name} must be a {ndim}D tensor, expected {ndim} dimensions, got {spec.ndim}D of "
            f"shape {list(spec.shape)}"
        )


def expect_product_dtypes(*specs: TensorSpec) -> None:
    """Refuse dtypes that differ, and those that have no product."""
    found = specs[0].dtype
    for spec in specs[1:]:
        if spec.dtype is not found:
            raise expected(
                "operands to have the same dtype", f"{found!r} != {spec.dtype!r}",
                "convert one of them with .to(...)",
            )  # fmt: skip
    if found in _NO_PRODUCTS:
        raise expected(
            "operands of a dtype that has products", repr(found),
            "convert them to a floating point or signed integer dtype", NotImplementedError,
        )  # fmt: skip


def expect_addend(self: TensorSpec, shape: tuple[int, ...]) -> None:
    """Refuse an addend that does not broadcast to the product's shape."""
    if self.ndim > len(shape) or broadcast_shapes([self.shape, shape]) != shape:
        raise Mismatch(
            f"expected self to broadcast to the product's shape {list(shape)}, got "
            f"{list(self.shape)}"
        )
