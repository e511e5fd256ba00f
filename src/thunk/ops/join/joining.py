"""Tensors joined along a dimension they have (cat) or a new one (stack), by all their names."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.copy.formats import format_strides, suggested_format
from thunk.ops.declare import alias, composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.ops.rules.zeros import zeros_for
from thunk.types.layout import contiguous_format
from thunk.types.promotion import result_type
from thunk.types.spec import TensorSpec


def is_skipped(spec: TensorSpec) -> bool:
    """Whether `cat` ignores it: an empty vector goes with tensors of any shape."""
    return spec.shape == (0,)


def _joined_shape(specs: list[TensorSpec], dim: int) -> tuple[int, ...]:
    first = specs[0].shape
    total = 0
    for position, spec in enumerate(specs):
        if len(spec.shape) != len(first):
            raise Mismatch(
                f"Tensors must have same number of dimensions: got {len(first)} and "
                f"{len(spec.shape)}"
            )
        for axis, (want, have) in enumerate(zip(first, spec.shape, strict=True)):
            if axis != dim and want != have:
                raise Mismatch(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {want} "
                    f"but got size {have} for tensor number {position} in the list."
                )
        total += spec.shape[dim]
    return (*first[:dim], total, *first[dim + 1 :])


def _cat(tensors: tuple[TensorSpec, ...], dim: int) -> TensorSpec:
    if not tensors:
        raise Mismatch("expected a non-empty list of Tensors", ValueError)
    for position, spec in enumerate(tensors):
        if not spec.shape:
            raise Mismatch(
                f"zero-dimensional tensor (at position {position}) cannot be concatenated"
            )
    kept = [spec for spec in tensors if not is_skipped(spec)] or [tensors[0]]
    shape = _joined_shape(kept, wrap_dim(dim, kept[0].ndim))
    formats = {suggested_format(spec) for spec in tensors}
    wanted = formats.pop() if len(formats) == 1 else contiguous_format
    element = result_type([spec.with_shape((1,)) for spec in tensors])
    return TensorSpec(shape, element, format_strides(shape, wanted), 0, kept[0].device)


def _cat_back(grad: Any, tensors_spec: tuple[TensorSpec, ...], dim: int) -> list[Any]:
    found, start = [], 0
    for spec in tensors_spec:
        if is_skipped(spec):
            found.append(zeros_for(grad, spec))
            continue
        end = start + spec.shape[wrap_dim(dim, spec.ndim)]
        found.append(t.slice(grad, dim, start, end))
        start = end
    return found


declare(
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    doc="Tensors one after the other along `dim`.",
    spec=_cat,
    vjp={"tensors": _cat_back},
    variants="function out apart typed",
    autocast="promote",
)

alias("concat", of="cat")
alias("concatenate", of="cat")


def expect_some(tensors: Any, name: str) -> None:
    """Raise unless there is a tensor to join."""
    if not tensors:
        raise Mismatch(f"{name} expects a non-empty TensorList")


@composite(
    "stack(Tensor[] tensors, int dim=0) -> Tensor", variants="function out apart typed",
    autocast="promote",
)
def stack(tensors: Any, dim: int) -> Any:
    """Tensors of one shape along a new dimension."""
    expect_some(tensors, "stack")
    first = tensors[0]._spec.shape
    place = wrap_dim(dim, len(first) + 1)
    for position, tensor in enumerate(tensors):
        if tensor._spec.shape != first:
            raise Mismatch(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(tensor._spec.shape)} at entry {position}"
            )
    joined = t.cat([t.unsqueeze(tensor, place) for tensor in tensors], place)
    # The new dimension makes no pictures of what were none: only those have an order of their own.
    return joined if len(first) > 3 else joined.contiguous()


@composite("hstack(Tensor[] tensors) -> Tensor", variants="function out typed")
def hstack(tensors: Any) -> Any:
    """Tensors side by side."""
    expect_some(tensors, "hstack")
    wide = t.atleast_1d(list(tensors))
    return t.cat(wide, 0 if wide[0]._spec.ndim == 1 else 1)


@composite("vstack(Tensor[] tensors) -> Tensor", variants="function out typed")
def vstack(tensors: Any) -> Any:
    """Tensors one below the other."""
    expect_some(tensors, "vstack")
    return t.cat(t.atleast_2d(list(tensors)), 0)


alias("row_stack", of="vstack")


@composite("dstack(Tensor[] tensors) -> Tensor", variants="function out typed")
def dstack(tensors: Any) -> Any:
    """Tensors one behind the other, along the third dimension."""
    expect_some(tensors, "dstack")
    return t.cat(t.atleast_3d(list(tensors)), 2)


@composite("column_stack(Tensor[] tensors) -> Tensor", variants="function out typed")
def column_stack(tensors: Any) -> Any:
    """Vectors as the columns of a matrix; matrices side by side."""
    expect_some(tensors, "column_stack")
    columns = [
        t.reshape(tensor, (tensor._spec.numel, 1)) if tensor._spec.ndim <= 1 else tensor
        for tensor in tensors
    ]
    return t.cat(columns, 1)
