"""Enters: the arguments that every factory takes. Leaves: the spec of a new tensor.

Invariant: a factory refuses what this build cannot make: sparse layouts and pinned memory.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import NoGradient
from thunk.ops.rules.places import placed
from thunk.types.device import device
from thunk.types.dtype import bool_, dtype, int64
from thunk.types.layout import layout, strided
from thunk.types.promotion import get_default_dtype
from thunk.types.spec import TensorSpec, make_spec

FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
INDEX_FACTORY = FACTORY.replace("dtype=None", "dtype=long", 1)
LIKE = f"{FACTORY}, MemoryFormat? memory_format=None"
CONSTANT = NoGradient("a new tensor depends on nothing")


def check_memory(kind: layout | None, pin_memory: bool | None) -> None:
    """Raise for memory that this build does not have."""
    if kind is not None and kind is not strided:
        raise expected(
            "layout strided", repr(kind), "make a dense tensor", kind=NotImplementedError
        )
    if pin_memory:
        raise expected(
            "pin_memory=False", "True: cannot access accelerator device when none is available"
        )


def checked_shape(size: Any) -> tuple[int, ...]:
    """`size`, whose members must not be negative."""
    shape = tuple(size)
    for each in shape:
        if each < 0:
            raise Mismatch(
                f"expected sizes that are not negative, got {list(shape)}: trying to create "
                f"tensor with negative dimension {each}"
            )
    return shape


def fresh_spec(size: Any, element: dtype | None, where: device | None) -> TensorSpec:
    """The spec of a new row-major tensor."""
    shape = checked_shape(size)
    return make_spec(shape, element or get_default_dtype(), placed(where))


def factory(size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    """The spec of `zeros(size, dtype=..., layout=..., device=..., pin_memory=...)`."""
    check_memory(layout, pin_memory)
    return fresh_spec(size, dtype, device)


def dtype_of_value(value: Any) -> dtype:
    """The dtype of a tensor filled with a Python number."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    default = get_default_dtype()
    return default.to_complex() if isinstance(value, complex) else default
