"""The C library's double-precision functions over arrays: a float64 array enters, one leaves.

Invariant: every element has the bits that the C library returns for it. PyTorch's samplers call
those functions one element at a time; NumPy's vector loops may differ from them in the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Float64Array = npt.NDArray[np.float64]

_PROBES = 4096


class LibraryFunction:
    """One function of the C library, applied to every element of an array.

    NumPy's loop is used when it gives the C library's bits on a probe of the given interval (on
    some machines it calls that library), since it is several times faster than one call an element.
    """

    def __init__(
        self,
        scalar: Callable[[float], float],
        vector: Callable[[Float64Array], Float64Array],
        probe: tuple[float, float],
        domain: tuple[float, float],
    ) -> None:
        self._scalar = scalar
        self._vector = vector
        self._probe = probe
        # Python raises instead of returning NaN or infinity outside this open interval, where the
        # results are the same in every implementation.
        self._domain = domain
        self._vector_agrees: bool | None = None

    def __call__(self, values: Float64Array) -> Float64Array:
        if self._vector_agrees is None:
            self._vector_agrees = self._probe_vector_loop()
        lower, upper = self._domain
        with np.errstate(all="ignore"):
            if self._vector_agrees:
                return self._vector(values)
            inside = (values > lower) & (values < upper)
            if inside.all():
                return self._one_by_one(values)
            result = self._vector(values)
            result[inside] = self._one_by_one(values[inside])
            return result

    def _one_by_one(self, values: Float64Array) -> Float64Array:
        results = map(self._scalar, values.ravel().tolist())
        return np.fromiter(results, np.float64, values.size).reshape(values.shape)

    def _probe_vector_loop(self) -> bool:
        low, high = self._probe
        points = np.random.RandomState(0).random_sample(_PROBES) * (high - low) + low
        return bool(np.array_equal(self._vector(points), self._one_by_one(points)))


_INFINITY = math.inf
_LARGEST_EXPONENT = 709.0

log = LibraryFunction(math.log, np.log, (0.0, 1.0), (0.0, _INFINITY))
log1p = LibraryFunction(math.log1p, np.log1p, (-1.0, 0.0), (-1.0, _INFINITY))
exp = LibraryFunction(math.exp, np.exp, (-8.0, 8.0), (-_INFINITY, _LARGEST_EXPONENT))
sin = LibraryFunction(math.sin, np.sin, (0.0, 7.0), (-_INFINITY, _INFINITY))
cos = LibraryFunction(math.cos, np.cos, (0.0, 7.0), (-_INFINITY, _INFINITY))
tan = LibraryFunction(math.tan, np.tan, (-1.6, 1.6), (-_INFINITY, _INFINITY))
