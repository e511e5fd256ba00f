"""NumPy rules of QR factorizations and of Householder reflections.

Enters: arrays of matrices. Leaves: fresh factors, as LAPACK makes and packs them.
Invariant: reflections are applied one after another to whole batches.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.linalg_arrays import adjoint


@rule("linalg_qr")
def linalg_qr(specs: Any, A: Any, mode: Any) -> Any:
    if mode == "r":
        return numpy.empty(0, A.dtype), numpy.linalg.qr(A, "r")
    return tuple(numpy.linalg.qr(A, mode))


@rule("geqrf")
def geqrf(specs: Any, self: Any) -> Any:
    packed, scales = numpy.linalg.qr(self, "raw")
    return numpy.swapaxes(packed, -1, -2), scales


def _reflect(value: Any, packed: Any, scale: Any, index: int) -> None:
    """Apply the reflection in column `index` of `packed` to `value`, in place."""
    vector = numpy.array(packed[..., index:, index : index + 1])
    vector[..., 0, :] = 1
    part = value[..., index:, :]
    part -= scale[..., None, None] * (vector @ (adjoint(vector) @ part))


@rule("linalg_householder_product")
def householder_product(spec: Any, input: Any, tau: Any) -> Any:
    rows, columns = input.shape[-2:]
    eye = numpy.eye(rows, columns, dtype=input.dtype)
    result = numpy.array(numpy.broadcast_to(eye, input.shape))
    for index in reversed(range(tau.shape[-1])):
        _reflect(result, input, tau[..., index], index)
    return result


@rule("ormqr")
def ormqr(spec: Any, self: Any, tau: Any, other: Any, left: bool, transpose: bool) -> Any:
    # From the right it is the adjoint of a product from the left.
    result = numpy.array(other if left else adjoint(other))
    turned = transpose == left
    count = tau.shape[-1]
    scales = numpy.conj(tau) if turned else tau
    for index in range(count) if turned else reversed(range(count)):
        _reflect(result, self, scales[..., index], index)
    return result if left else adjoint(result)
