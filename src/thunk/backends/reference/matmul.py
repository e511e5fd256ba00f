"""NumPy rules of the matrix products.

Enters: arrays of matrices. Leaves: fresh products, in float32 at least.
Invariant: with `beta == 0` the addend is not read, so its NaN do not spread.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


@rule("mm", "bmm", "mv", "dot", half="float32")
def product(spec: TensorSpec, self: Any, other: Any) -> Any:
    return self @ other


@rule("vdot", half="float32")
def vdot(spec: TensorSpec, self: Any, other: Any) -> Any:
    return numpy.conj(self) @ other


@rule("addmm", "addmv", "baddbmm", half="float32")
def added_product(
    spec: TensorSpec, self: Any, first: Any, second: Any, beta: Any, alpha: Any
) -> Any:
    return _scaled_sum(self, first @ second, beta, alpha)


@rule("addbmm", half="float32")
def addbmm(spec: TensorSpec, self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    return _scaled_sum(self, (batch1 @ batch2).sum(0, dtype=batch1.dtype), beta, alpha)


@rule("addr", half="float32")
def addr(spec: TensorSpec, self: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    wanted = numpy.result_type(self, vec1, vec2)
    outer = numpy.outer(vec1.astype(wanted), vec2.astype(wanted))
    return _scaled_sum(self.astype(wanted), outer, beta, alpha)


def _scaled_sum(self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    element = product.dtype.type
    scaled = product if alpha == 1 else product * _as_element(element, alpha)
    if beta == 0:
        return scaled
    return scaled + (self if beta == 1 else self * _as_element(element, beta))


def _as_element(element: Any, number: Any) -> Any:
    """A number in the arrays' own dtype: floats are cut off where the product is of integers."""
    if isinstance(number, float) and issubclass(element, numpy.integer):
        return element(int(number))
    return element(number)
