"""Numbers in even steps: arange, range, linspace and logspace."""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.creation.factory import CONSTANT, FACTORY, check_memory, fresh_spec
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.types.dtype import bool_, dtype, int64
from thunk.types.promotion import get_default_dtype
from thunk.types.spec import TensorSpec


def _checked_bounds(start: Any, end: Any, step: Any, element: dtype | None) -> None:
    if element is not None and (element is bool_ or element.is_complex):
        raise expected("a real dtype", repr(element), "convert it later", NotImplementedError)
    if any(isinstance(each, complex) for each in (start, end, step)):
        raise expected("real bounds", f"{start}, {end}, {step}")
    if step == 0:
        raise expected("a step that is not zero", f"{step}: step must be nonzero")
    if not all(math.isfinite(each) for each in (start, end)):
        raise Mismatch(f"expected finite bounds, got unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise expected(
            "bounds in the order of the step",
            f"{start}, {end}: upper bound and lower bound inconsistent with step sign",
        )


def _arange(end: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    return _arange_step(0, end, 1, dtype, layout, device, pin_memory)


def _arange_start(
    start: Any, end: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    return _arange_step(start, end, 1, dtype, layout, device, pin_memory)


def _arange_step(
    start: Any, end: Any, step: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    check_memory(layout, pin_memory)
    _checked_bounds(start, end, step, dtype)
    integral = all(isinstance(each, int) for each in (start, end, step))
    element = dtype or (int64 if integral else get_default_dtype())
    if element is int64:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise expected("a step that is not zero as an integer", "a fraction", kind=ValueError)
        count = -((start - end) // step)
    else:
        count = math.ceil((end - start) / step)
    return fresh_spec((max(count, 0),), element, device)


declare(
    f"arange(Scalar end, *, {FACTORY}) -> Tensor",
    doc="0, 1, ... below `end`.",
    spec=_arange,
    vjp=CONSTANT,
    variants="function out",
    static="end",
)
declare(
    f"arange.start(Scalar start, Scalar end, *, {FACTORY}) -> Tensor",
    doc="From `start`, by 1, below `end`.",
    spec=_arange_start,
    vjp=CONSTANT,
    variants="function",
    static="start end",
)
declare(
    f"arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {FACTORY}) -> Tensor",
    doc="From `start`, by `step`, below `end`.",
    spec=_arange_step,
    vjp=CONSTANT,
    variants="function out",
    static="start end step",
)


def _range_step(
    start: Any, end: Any, step: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    check_memory(layout, pin_memory)
    _checked_bounds(start, end, step, dtype)
    element = dtype or get_default_dtype()
    return fresh_spec((math.floor((end - start) / step) + 1,), element, device)


def _range(
    start: Any, end: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    return _range_step(start, end, 1, dtype, layout, device, pin_memory)


declare(
    f"range.step(Scalar start, Scalar end, Scalar step=1, *, {FACTORY}) -> Tensor",
    doc="From `start`, by `step`, up to and with `end`; `arange` is the modern form.",
    spec=_range_step,
    vjp=CONSTANT,
    variants="function out",
    static="start end step",
)
declare(
    f"range(Scalar start, Scalar end, *, {FACTORY}) -> Tensor",
    doc="From `start`, by 1, up to and with `end`; `arange` is the modern form.",
    spec=_range,
    vjp=CONSTANT,
    variants="function",
    static="start end",
)


def _linspace(
    start: Any, end: Any, steps: int, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    check_memory(layout, pin_memory)
    if steps < 0:
        raise expected("steps that are not negative", f"{steps}: number of steps must be >= 0")
    is_complex = isinstance(start, complex) or isinstance(end, complex)
    if is_complex and dtype is not None and not dtype.is_complex:
        raise expected("a complex dtype for complex bounds", repr(dtype))
    default = get_default_dtype()
    element = dtype or (default.to_complex() if is_complex else default)
    if element is bool_:
        raise expected("a dtype of numbers", repr(element), kind=NotImplementedError)
    return fresh_spec((steps,), element, device)


def _logspace(
    start: Any, end: Any, steps: int, base: float, dtype: Any, layout: Any, device: Any,
    pin_memory: Any,
) -> TensorSpec:  # fmt: skip
    return _linspace(start, end, steps, dtype, layout, device, pin_memory)


def _number(value: Any) -> Any:
    """The value of a bound that may be a 0-dim tensor."""
    spec = getattr(value, "_spec", None)
    if spec is None:
        return value
    if spec.shape:
        raise expected(
            "a 0-dimensional start and end", f"a tensor of {spec.ndim} dimension(s)",
            "index it",
        )  # fmt: skip
    return value.item()


_BOUNDS = (("Tensor", "Tensor"), ("Tensor", "Scalar"), ("Scalar", "Tensor"))

for _first, _second in _BOUNDS:

    @composite(
        f"linspace.{_first}_{_second}({_first} start, {_second} end, int steps, *, {FACTORY}) "
        "-> Tensor",
        variants="function out",
    )
    def linspace(start: Any, end: Any, steps: int, **options: Any) -> Any:
        """`steps` numbers in even distances from `start` to `end`, given as 0-dim tensors."""
        return t.linspace(_number(start), _number(end), steps, **options)

    @composite(
        f"logspace.{_first}_{_second}({_first} start, {_second} end, int steps, float base=10, *, "
        f"{FACTORY}) -> Tensor",
        variants="function out",
    )
    def logspace(start: Any, end: Any, steps: int, base: float, **options: Any) -> Any:
        """Powers of `base` whose exponents go evenly from `start` to `end`, 0-dim tensors."""
        return t.logspace(_number(start), _number(end), steps, base, **options)


declare(
    f"linspace(Scalar start, Scalar end, int steps, *, {FACTORY}) -> Tensor",
    doc="`steps` numbers in even distances from `start` to `end`, both included.",
    spec=_linspace,
    vjp=CONSTANT,
    variants="function out",
)
declare(
    f"logspace(Scalar start, Scalar end, int steps, float base=10, *, {FACTORY}) -> Tensor",
    doc="Powers of `base` whose exponents go evenly from `start` to `end`.",
    spec=_logspace,
    vjp=CONSTANT,
    variants="function out",
)
