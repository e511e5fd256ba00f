"""Tensors of one value, and uninitialised ones."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ops.copy.formats import format_strides, in_format
from thunk.ops.creation.factory import (
    CONSTANT,
    FACTORY,
    LIKE,
    check_memory,
    checked_shape,
    dtype_of_value,
    factory,
    fresh_spec,
)
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.numbers import check_fits
from thunk.ops.rules.places import placed
from thunk.types.promotion import get_default_dtype
from thunk.types.spec import TensorSpec, contiguous_strides

for _name, _doc in (("zeros", "A tensor of zeros."), ("ones", "A tensor of ones.")):
    declare(
        f"{_name}(SymInt[] size, *, {FACTORY}) -> Tensor",
        doc=_doc,
        spec=factory,
        vjp=CONSTANT,
        variants="function out",
    )


def _empty(
    size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> TensorSpec:
    fresh = factory(size, dtype, layout, device, pin_memory)
    strides = format_strides(fresh.shape, memory_format)
    return TensorSpec(fresh.shape, fresh.dtype, strides, 0, fresh.device)


declare(
    f"empty.memory_format(SymInt[] size, *, {LIKE}) -> Tensor",
    doc="A tensor whose values are whatever the memory held.",
    spec=_empty,
    vjp=CONSTANT,
    variants="function out",
)


def _full(
    size: Any, fill_value: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    check_memory(layout, pin_memory)
    element = dtype or dtype_of_value(fill_value)
    check_fits(fill_value, element)
    return fresh_spec(size, element, device)


declare(
    f"full(SymInt[] size, Scalar fill_value, *, {FACTORY}) -> Tensor",
    doc="A tensor of one value.",
    spec=_full,
    vjp=CONSTANT,
    variants="function out",
)


def _scalar_tensor(
    s: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:  # fmt: skip
    check_memory(layout, pin_memory)
    element = dtype or (
        get_default_dtype().to_complex() if isinstance(s, complex) else get_default_dtype()
    )
    check_fits(s, element)
    return fresh_spec((), element, device)


declare(
    f"scalar_tensor(Scalar s, *, {FACTORY}) -> Tensor",
    doc="A 0-dim tensor of the default dtype.",
    spec=_scalar_tensor,
    vjp=CONSTANT,
    variants="function",
)


def _empty_strided(
    size: Any, stride: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    check_memory(layout, pin_memory)
    shape = checked_shape(size)
    if len(stride) != len(shape):
        raise expected(
            "as many strides as sizes", f"mismatch in length of strides and shape: {stride}, {size}"
        )
    if any(each < 0 for each in stride):
        raise expected("strides that are not negative", list(stride))
    return TensorSpec(shape, dtype or get_default_dtype(), tuple(stride), 0, placed(device))


declare(
    f"empty_strided(SymInt[] size, SymInt[] stride, *, {FACTORY}) -> Tensor",
    doc="An uninitialised tensor of given strides.",
    spec=_empty_strided,
    vjp=CONSTANT,
    variants="function",
)


@composite(
    f"empty_permuted(SymInt[] size, int[] physical_layout, *, {FACTORY}) -> Tensor",
    variants="function",
)
def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Any:
    """An uninitialised tensor whose dimensions lie in memory in the given order."""
    if len(size) != len(physical_layout):
        raise expected("as many places as sizes", f"{list(physical_layout)} for {list(size)}")
    if sorted(physical_layout) != list(range(len(size))):
        raise expected("a permutation of the dimensions", list(physical_layout))
    moved = contiguous_strides(tuple(size[dim] for dim in physical_layout))
    strides = [0] * len(size)
    for position, dim in enumerate(physical_layout):
        strides[dim] = moved[position]
    return t.empty_strided(size, strides, **options)


@composite(f"empty_like(Tensor self, *, {LIKE}) -> Tensor", variants="function")
def empty_like(
    self: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Any:
    """An uninitialised tensor in the shape, dtype and layout of `self`."""
    spec = in_format(self._spec, memory_format)
    return t.empty_strided(
        spec.shape, spec.strides, dtype=dtype or spec.dtype, layout=layout,
        device=device or spec.device, pin_memory=pin_memory,
    )  # fmt: skip


@composite(f"ones_like(Tensor self, *, {LIKE}) -> Tensor", variants="function")
def ones_like(self: Any, **options: Any) -> Any:
    """Ones in the shape, dtype and layout of `self`."""
    return t.full_like(self, 1, **options)


def _like(self: Any, dtype: Any, device: Any) -> dict[str, Any]:
    return {"dtype": dtype or self._spec.dtype, "device": device or self._spec.device}


@composite(f"new_zeros(Tensor self, SymInt[] size, *, {FACTORY}) -> Tensor", variants="method")
def new_zeros(self: Any, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """Zeros of another shape, otherwise like `self`."""
    return t.zeros(size, layout=layout, pin_memory=pin_memory, **_like(self, dtype, device))


@composite(f"new_ones(Tensor self, SymInt[] size, *, {FACTORY}) -> Tensor", variants="method")
def new_ones(self: Any, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """Ones of another shape, otherwise like `self`."""
    return t.ones(size, layout=layout, pin_memory=pin_memory, **_like(self, dtype, device))


@composite(f"new_empty(Tensor self, SymInt[] size, *, {FACTORY}) -> Tensor", variants="method")
def new_empty(self: Any, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """An uninitialised tensor of another shape, otherwise like `self`."""
    return t.empty(size, layout=layout, pin_memory=pin_memory, **_like(self, dtype, device))


@composite(
    f"new_full(Tensor self, SymInt[] size, Scalar fill_value, *, {FACTORY}) -> Tensor",
    variants="method",
)
def new_full(
    self: Any, size: Any, fill_value: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    """One value in another shape, otherwise like `self`."""
    options = _like(self, dtype, device)
    return t.full(size, fill_value, layout=layout, pin_memory=pin_memory, **options)


@composite(
    f"new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, {FACTORY}) -> Tensor",
    variants="method",
)
def new_empty_strided(
    self: Any, size: Any, stride: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    """An uninitialised tensor of another shape and given strides, otherwise like `self`."""
    options = _like(self, dtype, device)
    return t.empty_strided(size, stride, layout=layout, pin_memory=pin_memory, **options)
