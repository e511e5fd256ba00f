"""Enters: a dtype. Leaves: `finfo` or `iinfo`, the limits of its values under PyTorch's names.

Invariant: instances are immutable; two of the same kind are equal when their element type is.
"""

from __future__ import annotations

import ml_dtypes
import numpy

from thunk.types.dtype import dtype
from thunk.types.promotion import get_default_dtype

_NOT_GIVEN = object()


def _element(name: str, value: object) -> dtype:
    if value is _NOT_GIVEN:
        return get_default_dtype()
    if not isinstance(value, dtype):
        raise TypeError(
            f"{name}: expected argument 'type' to be a dtype, got {type(value).__name__}; "
            "pass one such as float32"
        )
    return value


class _Info:
    """What both kinds share: a dtype's name, and immutability."""

    __slots__ = ("bits", "dtype", "max", "min")

    bits: int
    dtype: str

    def _fill(self, **facts: object) -> None:
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{type(self).__name__}: expected no assignment, got {name!r}; limits are read-only"
        )

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.dtype == other.dtype

    # PyTorch's are unhashable too.
    __hash__ = None  # type: ignore[assignment]  # the documented way to say so

    def _text(self, names: tuple[str, ...]) -> str:
        numbers = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"{type(self).__name__}({numbers}, dtype={self.dtype})"


class finfo(_Info):
    """Limits of a floating point dtype; of a complex one, those of its parts."""

    __slots__ = ("eps", "resolution", "smallest_normal", "tiny")

    max: float
    min: float
    eps: float
    resolution: float
    smallest_normal: float
    tiny: float

    # None is an error in PyTorch, so the default must be another object.
    def __init__(self, type: dtype = _NOT_GIVEN) -> None:  # type: ignore[assignment]
        element = _element("finfo", type)
        if not element.is_inexact:
            raise TypeError(
                f"finfo: expected a floating point or complex dtype, got {element}; use iinfo"
            )
        real = element.to_real()
        # NumPy's own knows nothing of bfloat16; this one also takes NumPy's types. It is untyped.
        limits = ml_dtypes.finfo(real.numpy)  # type: ignore[no-untyped-call]
        self._fill(
            bits=8 * real.itemsize,
            dtype=real.name,
            max=float(limits.max),
            min=float(limits.min),
            eps=float(limits.eps),
            # NumPy rounds 10**-precision to the type itself; PyTorch's is the double.
            resolution=float(f"1e-{limits.precision}"),
            smallest_normal=float(limits.smallest_normal),
            tiny=float(limits.smallest_normal),
        )

    def __repr__(self) -> str:
        return self._text(("resolution", "min", "max", "eps", "smallest_normal", "tiny"))


class iinfo(_Info):
    """Limits of an integer dtype."""

    __slots__ = ()

    max: int
    min: int

    def __init__(self, type: dtype) -> None:
        element = _element("iinfo", type)
        if element.is_inexact:
            raise TypeError(f"iinfo: expected an integer dtype, got {element}; use finfo")
        if element.name == "bool":
            raise TypeError(f"iinfo: expected an integer dtype, got {element}; it has no limits")
        limits = numpy.iinfo(element.numpy)
        self._fill(
            bits=8 * element.itemsize,
            dtype=element.name,
            max=int(limits.max),
            min=int(limits.min),
        )

    def __repr__(self) -> str:
        return self._text(("min", "max"))
