"""NumPy rules of the matrix products."""

from __future__ import annotations

from typing import Any

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec


@rule("mm", half="float32")
def mm(spec: TensorSpec, self: Any, mat2: Any) -> Any:
    return self @ mat2
