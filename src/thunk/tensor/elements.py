"""Enters: the items of one innermost sequence. Leaves: an array of the dtype they are stored as.

Invariant: conversions are those of C: floats truncate into integers, integers wrap only below an
unsigned type's zero, nothing else overflows in silence; errors have PyTorch's types.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy
from numpy.typing import NDArray

from thunk.base.errors import Mismatch, expected
from thunk.types import dtype as dtypes
from thunk.types.casting import cast_array
from thunk.types.dtype import BOOL, COMPLEX, FLOATING, INTEGRAL, dtype
from thunk.types.tensor_base import is_tensor

ReadTensor = Callable[[Any], NDArray[Any]]
Position = tuple[int, ...]

_REAL_NUMBERS = frozenset({bool, int, float})
_QUICK = {
    BOOL: _REAL_NUMBERS | {complex},
    INTEGRAL: frozenset({bool, int}),
    FLOATING: _REAL_NUMBERS,
    COMPLEX: _REAL_NUMBERS | {complex},
}
_WIDEST = {BOOL: numpy.bool_, FLOATING: numpy.float64, COMPLEX: numpy.complex128}


def text_of(position: Position) -> str:
    """The expression that reaches the item at `position`."""
    return "data" + "".join(f"[{index}]" for index in position)


class Row:
    """Converts sequences of items to arrays of one dtype."""

    def __init__(self, element: dtype, read_tensor: ReadTensor) -> None:
        self._element = element
        self._read_tensor = read_tensor
        self._convert: Callable[[Any, str], Any] = {
            BOOL: _to_bool,
            INTEGRAL: self._to_integer,
            FLOATING: _to_float,
            COMPLEX: _to_complex,
        }[element.category]

    def single(self, item: Any) -> NDArray[Any]:
        """An array of one item, the whole data."""
        return self._stored([self._number(item, text_of(()))], ())

    def converted(self, items: Any, position: Position) -> NDArray[Any]:
        """An array of the items of the list, tuple or array at `position`."""
        if isinstance(items, numpy.ndarray):
            if self._takes_whole(items):
                return cast_array(items, self._element)
        elif self.is_quick(items):
            return self._stored(items, position)
        numbers = [
            self._number(item, text_of((*position, index))) for index, item in enumerate(items)
        ]
        return self._stored(numbers, position)

    def is_quick(self, items: Any) -> bool:
        """Whether NumPy converts all `items` as C would, without looking at each."""
        return _QUICK[self._element.category].issuperset(map(type, items))

    def _takes_whole(self, items: NDArray[Any]) -> bool:
        """Whether converting an array at once does what converting its items would."""
        if items.ndim != 1:
            return False
        if self._element.category == FLOATING:
            return items.dtype.kind != "c"
        return self._element.is_complex or items.dtype == self._element.numpy

    def _stored(self, numbers: Any, position: Position) -> NDArray[Any]:
        """An array of Python numbers of the right kind."""
        if self._element.category == INTEGRAL:
            return self._integers(numbers, position)
        try:
            wide: NDArray[Any] = numpy.array(numbers, _WIDEST[self._element.category])
        except OverflowError as cause:
            raise Mismatch(
                f"expected numbers in {text_of(position)} that fit a float, got a larger one: "
                f"{cause}",
                OverflowError,
            ) from cause
        return cast_array(wide, self._element)

    def _integers(self, numbers: Iterable[int], position: Position) -> NDArray[Any]:
        unsigned = self._element is dtypes.uint64
        try:
            wide: NDArray[Any] = numpy.array(
                numbers, dtype=numpy.uint64 if unsigned else numpy.int64
            )
        except OverflowError as cause:
            raise Mismatch(
                f"expected integers in {text_of(position)} of at most 64 bits, got a value that "
                f"overflows: {cause}",
                OverflowError if unsigned else ValueError,
            ) from cause
        if unsigned:
            return wide
        limits = numpy.iinfo(self._element.numpy)
        lowest = limits.min or -limits.max
        outside = (wide < lowest) | (wide > limits.max)
        if outside.any():
            raise self._overflow(wide[outside][0], text_of(position))
        return wide.astype(self._element.numpy)

    def _number(self, item: Any, where: str) -> Any:
        if is_tensor(item):
            item = self._of_tensor(item, where)
        return self._convert(item, where)

    def _of_tensor(self, tensor: Any, where: str) -> Any:
        array = self._read_tensor(tensor)
        got = f"{array.dtype} of shape {array.shape}"
        if self._element.category <= INTEGRAL:
            if array.size != 1 or array.dtype.kind not in "biu":
                want = f"an integer tensor of a single element at {where}"
                raise expected(want, got, "convert it first", TypeError)
            return int(array.item())
        if array.size != 1:
            want = f"only one element tensors at {where}"
            raise expected(want, got, "use stack(...) for larger ones", ValueError)
        value = array.item()
        if isinstance(value, complex) and not self._element.is_complex:
            if value.imag:
                raise self._overflow(value, where)
            return value.real
        return value

    def _to_integer(self, value: Any, where: str) -> int:
        if not isinstance(value, float):
            return _index(value, where)
        limits = numpy.iinfo(self._element.numpy)
        if self._element is dtypes.uint64:
            raise expected(f"an integer at {where}", repr(value), "round it first", TypeError)
        if limits.min <= value <= limits.max and int(value) <= limits.max:
            return int(value)
        raise self._overflow(value, where)

    def _overflow(self, value: object, where: str) -> Mismatch:
        return Mismatch(
            f"expected values in {where} that fit, got {value}: value cannot be converted to type "
            f"{self._element.name} without overflow; use a wider dtype"
        )


def _wrong_kind(want: str, value: object, where: str) -> Mismatch:
    return expected(
        f"{want} at {where}", f"'{type(value).__name__}'", "convert the item first", TypeError
    )


def _index(value: Any, where: str) -> int:
    try:
        return operator.index(value)
    except TypeError as cause:
        raise _wrong_kind("an integer", value, where) from cause


def _to_bool(value: Any, where: str) -> bool:
    if isinstance(value, (bool, float, complex, numpy.bool_)):
        return bool(value)
    return _index(value, where) != 0


def _to_float(value: Any, where: str) -> float:
    try:
        # C's conversion: unlike float(), it takes no text.
        return ctypes.c_double(value).value
    except TypeError as cause:
        raise _wrong_kind("a real number", value, where) from cause
    except OverflowError as cause:
        raise Mismatch(
            f"expected a number at {where} that fits a float: {cause}", OverflowError
        ) from cause


def _to_complex(value: Any, where: str) -> complex:
    if hasattr(type(value), "__complex__"):
        return complex(value)
    return _to_float(value, where)
