"""Enters: a Python number and a dtype. Leaves: nothing, or PyTorch's refusal to convert it.

Invariant: infinities and NaN fit every inexact dtype; negative integers wrap if unsigned.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy

from thunk.base.errors import expected
from thunk.types.dtype import BOOL, COMPLEX, INTEGRAL, bfloat16, dtype


def fits(value: Any, element: dtype) -> bool:
    """Whether PyTorch converts `value` to `element` without complaint."""
    if element.category == BOOL:
        return True
    if isinstance(value, complex):
        if element.category == COMPLEX:
            real = element.to_real()
            return fits(value.real, real) and fits(value.imag, real)
        return value.imag == 0 and fits(value.real, element)
    if element.category == INTEGRAL:
        return _fits_integer(value, element)
    if isinstance(value, float) and not math.isfinite(value):
        return True
    return bool(abs(value) <= _largest(element.to_real()))


def _fits_integer(value: Any, element: dtype) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    limits = numpy.iinfo(element.numpy)
    lowest = int(limits.min) if element.is_signed else -int(limits.max)
    return bool(lowest <= value <= int(limits.max))


def _largest(element: dtype) -> float:
    if element is bfloat16:
        return float(ml_dtypes.finfo(element.numpy).max)  # type: ignore[no-untyped-call]
    return float(numpy.finfo(element.numpy).max)


class _Checked(threading.local):
    """The checks that this thread made, while somebody collects them."""

    numbers: list[tuple[Any, dtype]] | None = None


_checked = _Checked()


@contextmanager
def checked_numbers() -> Iterator[list[tuple[Any, dtype]]]:
    """Collects which numbers shape rules refuse to convert to which dtypes."""
    previous, _checked.numbers = _checked.numbers, []
    try:
        yield _checked.numbers
    finally:
        _checked.numbers = previous


def check_fits(value: Any, element: dtype) -> None:
    """Raise unless `value` converts to `element`."""
    if _checked.numbers is not None:
        _checked.numbers.append((value, element))
    if not fits(value, element):
        raise expected(
            f"a value that fits {element!r}",
            f"{value}: value cannot be converted to type {element.name} without overflow",
            "use a wider dtype",
        )
