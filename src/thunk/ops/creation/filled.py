"""Tensors of one value, and uninitialised ones."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import declare
from thunk.types.device import CPU, device
from thunk.types.dtype import bool_, dtype, int64
from thunk.types.promotion import get_default_dtype
from thunk.types.spec import TensorSpec, make_spec

FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
CONSTANT = NoGradient("a new tensor depends on nothing")


def fresh_spec(size: Any, element: dtype | None, where: device | None) -> TensorSpec:
    """The spec of a new row-major tensor."""
    shape = tuple(size)
    for each in shape:
        if each < 0:
            raise Mismatch(
                f"Trying to create tensor with negative dimension {each}: {list(shape)}"
            )
    return make_spec(shape, element or get_default_dtype(), where or CPU)


def _factory(size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    return fresh_spec(size, dtype, device)


declare(
    f"zeros(SymInt[] size, *, {FACTORY}) -> Tensor",
    doc="A tensor of zeros.",
    spec=_factory,
    vjp=CONSTANT,
    variants="function out",
)
declare(
    f"ones(SymInt[] size, *, {FACTORY}) -> Tensor",
    doc="A tensor of ones.",
    spec=_factory,
    vjp=CONSTANT,
    variants="function out",
)
declare(
    f"empty.memory_format(SymInt[] size, *, {FACTORY}, MemoryFormat? memory_format=None) -> Tensor",
    doc="A tensor whose values are whatever the memory held.",
    spec=lambda size, dtype, layout, device, pin_memory, memory_format: fresh_spec(
        size, dtype, device
    ),
    vjp=CONSTANT,
    variants="function out",
)


def _full(
    size: Any, fill_value: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    return fresh_spec(size, dtype or _dtype_of_value(fill_value), device)


def _dtype_of_value(value: Any) -> dtype:
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    default = get_default_dtype()
    return default.to_complex() if isinstance(value, complex) else default


declare(
    f"full(SymInt[] size, Scalar fill_value, *, {FACTORY}) -> Tensor",
    doc="A tensor of one value.",
    spec=_full,
    vjp=CONSTANT,
    variants="function out",
)


def _arange(end: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    return _arange_step(0, end, 1, dtype, layout, device, pin_memory)


def _arange_step(
    start: Any, end: Any, step: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    if step == 0:
        raise Mismatch("step must be nonzero")
    if (end - start) * step < 0:
        raise Mismatch("upper bound and lower bound inconsistent with step sign")
    integral = all(isinstance(each, int) for each in (start, end, step))
    element = dtype or (int64 if integral else get_default_dtype())
    count = -(-(end - start) // step) if integral else _ceil((end - start) / step)
    return fresh_spec((int(count),), element, device)


def _ceil(value: float) -> int:
    floor = int(value // 1)
    return floor if floor == value else floor + 1


declare(
    f"arange(Scalar end, *, {FACTORY}) -> Tensor",
    doc="0, 1, ... below `end`.",
    spec=_arange,
    vjp=CONSTANT,
    variants="function out",
    static="end",
)
declare(
    f"arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {FACTORY}) -> Tensor",
    doc="From `start`, by `step`, below `end`.",
    spec=_arange_step,
    vjp=CONSTANT,
    variants="function out",
    static="start end step",
)
