"""Whether elements occur among others."""

from __future__ import annotations

from typing import Any

from thunk.ir.opdef import NoGradient
from thunk.ops.declare import composite, declare
from thunk.ops.reduce.shapes import refuse_dtypes
from thunk.ops.registry import t
from thunk.types.dtype import bool_
from thunk.types.promotion import result_type
from thunk.types.spec import TensorSpec, make_spec

_FLAGS = "*, bool assume_unique=False, bool invert=False) -> Tensor"


def _isin(
    elements: TensorSpec, test_elements: TensorSpec, assume_unique: bool, invert: bool
) -> TensorSpec:
    for each in (elements, test_elements):
        refuse_dtypes(each, "bool", "complex", kind=RuntimeError)
        refuse_dtypes(each, "wide unsigned")
    return make_spec(elements.shape, bool_, elements.device)


declare(
    f"isin.Tensor_Tensor(Tensor elements, Tensor test_elements, {_FLAGS}",
    doc="Whether each element is among the test elements.",
    spec=_isin,
    vjp=NoGradient("the result is boolean"),
    variants="function out exact",
)


@composite(
    f"isin.Tensor_Scalar(Tensor elements, Scalar test_element, {_FLAGS}",
    variants="function out exact",
)
def isin_number(
    elements: Any, test_element: Any, *, assume_unique: bool = False, invert: bool = False
) -> Any:
    """Whether each element equals a number."""
    other = _tensor_of(test_element, elements)
    return t.isin(elements, other, assume_unique=assume_unique, invert=invert)


@composite(
    f"isin.Scalar_Tensor(Scalar element, Tensor test_elements, {_FLAGS}",
    variants="function out exact",
)
def number_isin(
    element: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Any:
    """Whether a number is among the test elements."""
    own = _tensor_of(element, test_elements)
    return t.isin(own, test_elements, assume_unique=assume_unique, invert=invert)


def _tensor_of(number: Any, beside: Any) -> Any:
    spec = beside._spec
    return t.full((), number, dtype=result_type((spec, number)), device=spec.device)
