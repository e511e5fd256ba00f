"""NumPy rules of cross products, traces and matrix exponentials.

Enters: arrays of vectors or of matrices. Leaves: fresh results.
Invariant: exponentials are computed in double precision, whatever the operand's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule

# The approximant of degree 13 is exact in double precision up to this norm.
WIDEST = 5.37
_DEGREE = 13


@rule("linalg_cross", half="float32")
def linalg_cross(spec: Any, self: Any, other: Any, dim: int) -> Any:
    wanted = numpy.result_type(self, other)
    a, b = numpy.broadcast_arrays(self.astype(wanted), other.astype(wanted))
    place = dim % a.ndim
    a, b = numpy.moveaxis(a, place, 0), numpy.moveaxis(b, place, 0)
    found = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return numpy.stack(found, place)


@rule("trace", half="float32")
def trace(spec: Any, self: Any) -> Any:
    return numpy.trace(self)


def _coefficients() -> list[float]:
    """Of the numerator of the diagonal Pade approximant, from the constant on."""
    top = _DEGREE
    return [
        math.comb(top, k) * math.factorial(2 * top - k) / math.factorial(2 * top)
        for k in range(top + 1)
    ]


PADE = _coefficients()


@rule("linalg_matrix_exp", half="float32")
def linalg_matrix_exp(spec: Any, self: Any) -> Any:
    size = self.shape[-1]
    if not self.size:
        return numpy.empty(self.shape, self.dtype)
    wide = numpy.complex128 if self.dtype.kind == "c" else numpy.float64
    a = self.reshape(-1, size, size).astype(wide)
    norms = numpy.abs(a).sum(-2).max(-1)
    finite = numpy.isfinite(norms)
    a[~finite] = 0
    steps = numpy.ceil(numpy.log2(numpy.maximum(norms, WIDEST) / WIDEST))
    steps = numpy.where(finite, steps, 0).astype(numpy.int64)
    found = _pade(a * numpy.exp2(-steps)[:, None, None])
    for step in range(int(steps.max())):
        more = steps > step
        found[more] = found[more] @ found[more]
    found[~finite] = numpy.nan
    return found.reshape(self.shape)


def _pade(a: Any) -> Any:
    """The exponential of matrices of small norm."""
    eye = numpy.broadcast_to(numpy.eye(a.shape[-1], dtype=a.dtype), a.shape)
    square = a @ a
    even, odd = PADE[0] * eye, PADE[1] * eye
    power = eye
    for k in range(2, _DEGREE + 1, 2):
        power = power @ square
        even = even + PADE[k] * power
        odd = odd + PADE[k + 1] * power
    odd = a @ odd
    return numpy.linalg.solve(even - odd, even + odd)
