"""The linear recurrence `out[k] = input[k] + decay[k] * out[k - 1]`.

Gradients of running products and of running log-sum-exp are such recurrences: no division, so
zeros need no special case, and the gradient of a recurrence is the recurrence the other way.
"""

from __future__ import annotations

from typing import Any

from thunk.ops.declare import declare
from thunk.ops.pointwise.arithmetic import conjugate
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import pointwise_spec
from thunk.types.spec import TensorSpec


def _recurrence(decay: TensorSpec, input: TensorSpec, dim: int, reverse: bool) -> TensorSpec:
    found = pointwise_spec((decay, input))
    return found.with_shape(found.shape)


def shifted(values: Any, dim: int, reverse: bool, fill: float = 0) -> Any:
    """Each element's predecessor along `dim`; `fill` where there is none."""
    count = values._spec.shape[dim]
    edge = t.full_like(t.narrow(values, dim, 0, 1), fill)
    if reverse:
        return t.cat([t.narrow(values, dim, 1, count - 1), edge], dim)
    return t.cat([edge, t.narrow(values, dim, 0, count - 1)], dim)


def _gradient(
    grad: Any, decay: Any, result: Any, dim: int, reverse: bool, needed: tuple[bool, ...]
) -> tuple[Any, Any]:
    if not grad._spec.shape[dim]:
        return grad, grad
    # The decay that leads from an element to its successor comes to it from there.
    coming = shifted(conjugate(decay), dim, not reverse)
    flowing = t._linear_recurrence(coming, grad, dim, not reverse)
    of_decay = flowing * conjugate(shifted(result, dim, reverse)) if needed[0] else None
    return of_decay, flowing


declare(
    "_linear_recurrence(Tensor decay, Tensor input, int dim, bool reverse=False) -> Tensor",
    doc="`out[k] = input[k] + decay[k] * out[k - 1]` along `dim`, or from its end.",
    spec=_recurrence,
    vjp={("decay", "input"): _gradient},
    variants="",
)
