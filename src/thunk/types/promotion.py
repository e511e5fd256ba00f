"""Enters: dtypes, specs and Python numbers. Leaves: the dtype PyTorch would compute in.

Invariant: categories rank tensors with dimensions over 0-dim tensors over Python numbers; a lower
rank changes the result only when it raises the category (bool < int < float < complex).
"""

from __future__ import annotations

from collections.abc import Iterable

from thunk.base.notice import meaning_changed
from thunk.types import dtype as d
from thunk.types.dtype import dtype
from thunk.types.spec import TensorSpec

_SIGNED_FOR_UINT8 = {d.int8: d.int16, d.int16: d.int16, d.int32: d.int32, d.int64: d.int64}
_WIDE_UNSIGNED = frozenset({d.uint16, d.uint32, d.uint64})
_default_dtype = d.float32


def get_default_dtype() -> dtype:
    """The dtype of new floating point tensors."""
    return _default_dtype


def set_default_dtype(element: dtype) -> None:
    """Change the dtype of new floating point tensors."""
    global _default_dtype
    if not isinstance(element, dtype):
        raise TypeError(f"set_default_dtype: expected a dtype, got {type(element).__name__}")
    if not element.is_floating_point:
        raise TypeError(f"set_default_dtype: expected a floating point dtype, got {element}")
    _default_dtype = element
    meaning_changed()


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest dtype that PyTorch converts both `a` and `b` to."""
    if a is b:
        return a
    if a.category > b.category:
        a, b = b, a
    if not b.is_floating_point and (a in _WIDE_UNSIGNED or b in _WIDE_UNSIGNED):
        raise RuntimeError(
            "promote_types: expected uint16, uint32 and uint64 beside floating point dtypes only, "
            f"got {a} and {b}; convert one of them first"
        )
    if b.category == d.COMPLEX:
        double = d.complex128 in (a, b) or a is d.float64
        return d.complex128 if double else d.complex64
    if b.category == d.FLOATING:
        return b if a.category < d.FLOATING else _promote_floats(a, b)
    if a.category == d.BOOL:
        return b
    return _promote_integers(a, b)


def _promote_floats(a: dtype, b: dtype) -> dtype:
    if a.itemsize == b.itemsize:
        return d.float32
    return a if a.itemsize > b.itemsize else b


def _promote_integers(a: dtype, b: dtype) -> dtype:
    if a is d.uint8:
        return _SIGNED_FOR_UINT8[b]
    if b is d.uint8:
        return _SIGNED_FOR_UINT8[a]
    return a if a.itemsize > b.itemsize else b


def result_type(operands: Iterable[TensorSpec | bool | int | float | complex]) -> dtype:
    """The common dtype of tensors, 0-dim tensors and Python numbers."""
    dimensioned: dtype | None = None
    scalar: dtype | None = None
    number: dtype | None = None
    for operand in operands:
        if not isinstance(operand, TensorSpec):
            number = _join(number, _of_number(operand))
        elif operand.shape:
            dimensioned = _join(dimensioned, operand.dtype)
        else:
            scalar = _join(scalar, operand.dtype)
    return _combine(_combine(dimensioned, scalar), number) or get_default_dtype()


def _of_number(value: object) -> dtype:
    element = d.of_scalar(value)
    if element.is_floating_point:
        return get_default_dtype()
    return get_default_dtype().to_complex() if element.is_complex else element


def _join(known: dtype | None, new: dtype) -> dtype:
    return new if known is None else promote_types(known, new)


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    if higher is None or lower is None:
        return higher or lower
    if lower.category <= higher.category:
        return higher
    if lower.is_complex:
        return higher.to_complex() if higher.is_floating_point else lower
    return promote_types(higher, lower)


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether an in-place result of `source` may be written into `target`."""
    if source.category == d.COMPLEX and target.category != d.COMPLEX:
        return False
    if source.category == d.FLOATING and target.category in (d.BOOL, d.INTEGRAL):
        return False
    return not (source.category != d.BOOL and target.category == d.BOOL)


def to_inexact(element: dtype) -> dtype:
    """`element`, or the default dtype for integers and bool."""
    return element if element.is_inexact else get_default_dtype()
