"""The NumPy rule of the linear map."""

from __future__ import annotations

import math
from typing import Any

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


@rule("linear", half="float32")
def linear(spec: TensorSpec, input: Any, weight: Any, bias: Any) -> Any:
    # One product of matrices, whatever the leading dimensions: NumPy hands those to BLAS.
    rows = input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
    product = (rows @ weight.T).reshape(spec.shape)
    return product if bias is None else product + bias
