"""Normalisation by the root of the mean square of the last dimensions.

Enters: rows and a weight. Leaves: rows of mean square one, scaled.
Invariant: `rstd` leaves with ones where dimensions were averaged, in single precision or wider.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from thunk.ops.declare import composite, declare
from thunk.ops.norm.layer import check_rows, last_dims
from thunk.ops.norm.second import (
    Normalised,
    living,
    plus,
    second_gradients,
    through_results,
)
from thunk.ops.registry import t
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, plain_spec
from thunk.types.dtype import float32
from thunk.types.spec import TensorSpec


def _spec(
    input: TensorSpec, normalized_shape: Sequence[int], weight: TensorSpec | None,
    eps: float | None,
) -> tuple[TensorSpec, ...]:  # fmt: skip
    check_rows(input, normalized_shape, weight)
    check_dtype(input, FLOATING_ONLY)
    rows = input.shape[: input.ndim - len(normalized_shape)] + (1,) * len(normalized_shape)
    wide = float32 if input.dtype.itemsize == 2 else input.dtype
    return plain_spec(input, input.shape), plain_spec(input, rows, wide)


def _gradient(
    grads: Any, input: Any, normalized_shape: Any, weight: Any, result1: Any, needed: Any
) -> Any:
    found: list[Any] = [None, None]
    if grads[0] is not None:
        found = list(t._fused_rms_norm_backward(
            grads[0], input, normalized_shape, result1, weight, needed
        ))  # fmt: skip
    if needed[0]:
        norm = Normalised(input, None, result1, weight, last_dims(normalized_shape))
        count = math.prod(normalized_shape)
        found[0] = plus(found[0], through_results(norm, None, grads[1], count))
    return found


declare(
    "_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps)"
    " -> (Tensor, Tensor)",
    doc="Normalisation by the root mean square; also returns its inverse.",
    spec=_spec,
    vjp={("input", "weight"): _gradient},
    variants="function",
)


def _backward_spec(
    grad_out: TensorSpec, input: TensorSpec, normalized_shape: Sequence[int], rstd: TensorSpec,
    weight: TensorSpec | None, output_mask: Sequence[bool],
) -> tuple[TensorSpec | None, ...]:  # fmt: skip
    found = (
        plain_spec(input, input.shape),
        plain_spec(weight or input, tuple(normalized_shape)),
    )
    return tuple([spec if wanted else None for spec, wanted in zip(found, output_mask)])


def _second(
    grads: Any, grad_out: Any, input: Any, normalized_shape: Any, rstd: Any, weight: Any
) -> Any:
    dims = last_dims(normalized_shape)
    norm = Normalised(input, None, living(input, None, rstd, dims)[1], weight, dims)
    to_input, to_weight = grads
    for_grad, for_input, for_weight = second_gradients(norm, grad_out, to_input, to_weight, None)
    return for_grad, for_input, for_weight, None


declare(
    "_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, "
    "Tensor? weight, bool[2] output_mask) -> (Tensor, Tensor)",
    doc="The gradients of `_fused_rms_norm` for input and weight; None where not asked for.",
    spec=_backward_spec,
    vjp={("grad_out", "input", "weight", "rstd"): _second},
    variants="",
)


@composite(
    "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None)"
    " -> Tensor",
    variants="function",
)
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
    """Rows divided by the root of their mean square, scaled."""
    if not input._spec.dtype.is_complex:
        return t._fused_rms_norm(input, normalized_shape, weight, eps)[0]
    check_rows(input._spec, normalized_shape, None if weight is None else weight._spec)
    mean = t.mean(input * input, last_dims(normalized_shape), True)
    scaled = input * t.rsqrt(mean + (machine_epsilon(input._spec) if eps is None else eps))
    return scaled if weight is None else scaled * weight


def machine_epsilon(input: TensorSpec) -> float:
    """The step above one in the precision that the rows are averaged in."""
    return 2.0**-52 if input.dtype.to_real().itemsize == 8 else 2.0**-23
