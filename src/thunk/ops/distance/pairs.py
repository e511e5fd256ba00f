"""The distance and the cosine of two vectors each."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite
from thunk.ops.registry import t
from thunk.types.promotion import result_type


@composite(
    "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False)"
    " -> Tensor",
    variants="function",
)
def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norm of differences along the last dimension; eps keeps its gradient finite."""
    last = max(x1._spec.ndim, x2._spec.ndim) - 1
    return t.norm(x1 - x2 + eps, p, last, keepdim)


def _at_least(length: Any, smallest: float) -> Any:
    """Lengths raised to `smallest`, with the gradient of the lengths themselves."""
    raised = t.clamp_min(length.detach(), smallest)
    return length + (raised - length.detach())


@composite(
    "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
    variants="function",
)
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of vectors along a dimension; lengths below eps count as eps."""
    element = result_type([x1._spec, x2._spec])
    if not element.is_floating_point:
        raise Mismatch(
            f"expected common dtype to be floating point, yet common dtype is {element!r}; "
            "convert the inputs with .float()"
        )
    first, second = t.broadcast_tensors([x1.to(element), x2.to(element)])
    unit = [
        each / _at_least(t.linalg_vector_norm(each, 2, (dim,), True), eps)
        for each in (first, second)
    ]
    return t.sum(unit[0] * unit[1], dim)
