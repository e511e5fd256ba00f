"""Enters: nothing. Leaves: one singleton per element type, with its NumPy counterpart.

Invariant: dtypes compare by identity; `name` is unique; aliases (`float`, `long`) are one object.
"""

from __future__ import annotations

from typing import ClassVar

import ml_dtypes
import numpy

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)


class dtype:
    """Element type of a tensor."""

    __slots__ = ("category", "is_signed", "itemsize", "name", "numpy")

    _by_name: ClassVar[dict[str, dtype]] = {}
    _by_numpy: ClassVar[dict[numpy.dtype, dtype]] = {}

    name: str
    numpy: numpy.dtype
    itemsize: int
    category: int
    is_signed: bool

    def __init__(self, name: str, numpy_type: object, category: int, is_signed: bool) -> None:
        self.name = name
        found: numpy.dtype = numpy.dtype(numpy_type)  # type: ignore[call-overload]  # ml_dtypes
        self.numpy = found
        self.itemsize = self.numpy.itemsize
        self.category = category
        self.is_signed = is_signed
        dtype._by_name[name] = self
        dtype._by_numpy[self.numpy] = self

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX

    @property
    def is_inexact(self) -> bool:
        """Whether values of this type can carry a gradient."""
        return self.category >= FLOATING

    def to_real(self) -> dtype:
        return _REAL_OF.get(self, self)

    def to_complex(self) -> dtype:
        return _COMPLEX_OF.get(self, self)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return dtype_named, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: object) -> dtype:
        return self


bool_ = dtype("bool", numpy.bool_, BOOL, False)
uint8 = dtype("uint8", numpy.uint8, INTEGRAL, False)
int8 = dtype("int8", numpy.int8, INTEGRAL, True)
int16 = dtype("int16", numpy.int16, INTEGRAL, True)
int32 = dtype("int32", numpy.int32, INTEGRAL, True)
int64 = dtype("int64", numpy.int64, INTEGRAL, True)
uint16 = dtype("uint16", numpy.uint16, INTEGRAL, False)
uint32 = dtype("uint32", numpy.uint32, INTEGRAL, False)
uint64 = dtype("uint64", numpy.uint64, INTEGRAL, False)
float16 = dtype("float16", numpy.float16, FLOATING, True)
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOATING, True)
float32 = dtype("float32", numpy.float32, FLOATING, True)
float64 = dtype("float64", numpy.float64, FLOATING, True)
complex64 = dtype("complex64", numpy.complex64, COMPLEX, True)
complex128 = dtype("complex128", numpy.complex128, COMPLEX, True)

_REAL_OF = {complex64: float32, complex128: float64}
_COMPLEX_OF = {float16: complex64, bfloat16: complex64, float32: complex64, float64: complex128}

ALIASES = {
    "half": float16, "float": float32, "double": float64, "cfloat": complex64,
    "cdouble": complex128, "short": int16, "int": int32, "long": int64,
}  # fmt: skip


def all_dtypes() -> list[dtype]:
    """Every element type, in declaration order."""
    return list(dtype._by_name.values())


def dtype_named(name: str) -> dtype:
    """The dtype called `name`, alias or not."""
    found = dtype._by_name.get(name) or ALIASES.get(name)
    if found is None:
        raise ValueError(f"dtype: expected one of {sorted(dtype._by_name)}, got {name!r}")
    return found


def from_numpy_dtype(numpy_dtype: numpy.dtype) -> dtype:
    """The dtype that stores the same bits as `numpy_dtype`."""
    found = dtype._by_numpy.get(numpy_dtype) or dtype._by_numpy.get(numpy_dtype.newbyteorder("="))
    if found is None:
        supported = ", ".join(str(known) for known in dtype._by_numpy)
        raise TypeError(
            f"from_numpy: expected an array of one of {supported}, got {numpy_dtype}; "
            "convert it with .astype(...) first"
        )
    return found


def of_scalar(value: object) -> dtype:
    """The category representative of a Python number: bool, int64, float64 or complex128."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return float64
    if isinstance(value, complex):
        return complex128
    raise TypeError(f"expected a Python number, got {type(value).__name__}")
