"""Enters: specs of matrices. Leaves: result specs, or PyTorch's complaint.

Invariant: results of factorizations lie column by column, as LAPACK leaves them.
"""

from __future__ import annotations

from thunk.base.errors import Mismatch, expected
from thunk.ops.rules.dims import broadcast_shapes
from thunk.types.dtype import bfloat16, dtype, float16
from thunk.types.spec import TensorSpec, contiguous_strides, make_spec

_LOW = frozenset({float16, bfloat16})


def expect_matrices(spec: TensorSpec, name: str = "A") -> None:
    """Refuse what has fewer than two dimensions."""
    if spec.ndim < 2:
        raise Mismatch(f"The input tensor {name} must have at least 2 dimensions, got {spec.ndim}")


def expect_square(spec: TensorSpec, name: str = "A") -> None:
    """Refuse matrices that are not square."""
    expect_matrices(spec, name)
    rows, columns = spec.shape[-2:]
    if rows != columns:
        raise Mismatch(
            f"{name} must be batches of square matrices, but they are {rows} by {columns} matrices"
        )


def expect_inexact(
    spec: TensorSpec,
    integers: type[Exception] = RuntimeError,
    low: type[Exception] | None = NotImplementedError,
) -> None:
    """Refuse integers, and half precision unless `low` is None."""
    if not spec.dtype.is_inexact:
        raise Mismatch(
            f"Expected a floating point or complex tensor as input. Got {spec.dtype!r}; "
            "convert it with .to(...)",
            integers,
        )
    if low is not None and spec.dtype in _LOW:
        raise Mismatch(
            f"Low precision dtypes not supported. Got {spec.dtype!r}; convert it with .float()", low
        )


def expect_same_dtype(first: TensorSpec, second: TensorSpec, names: str) -> None:
    """Refuse operands of two dtypes; `names` is what the message calls them."""
    if first.dtype is not second.dtype:
        raise expected(
            f"{names} to have the same dtype", f"{first.dtype!r} and {second.dtype!r}",
            "convert one of them with .to(...)",
        )  # fmt: skip


def expect_system(a: TensorSpec, b: TensorSpec, left: bool) -> None:
    """Refuse sides of `AX = B` (or `XA = B`) whose sizes do not fit."""
    expect_square(a)
    expect_matrices(b, "B")
    if a.shape[-2] != b.shape[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        raise Mismatch(
            f"Incompatible shapes of A and B for the equation {equation} "
            f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})"
        )


def batch_of(*specs: TensorSpec) -> tuple[int, ...]:
    """The common batch shape of matrices."""
    return broadcast_shapes([spec.shape[:-2] for spec in specs])


def by_columns(
    like: TensorSpec, shape: tuple[int, ...], element: dtype | None = None
) -> TensorSpec:
    """The spec of new matrices that lie column by column."""
    turned = (*shape[:-2], shape[-1], shape[-2])
    strides = contiguous_strides(turned)
    swapped = (*strides[:-2], strides[-1], strides[-2])
    return TensorSpec(shape, element or like.dtype, swapped, 0, like.device)


def by_rows(like: TensorSpec, shape: tuple[int, ...], element: dtype | None = None) -> TensorSpec:
    """The spec of a new row-major tensor."""
    return make_spec(shape, element or like.dtype, like.device)
