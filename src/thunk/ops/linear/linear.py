"""Linear and bilinear maps of the last dimension.

Enters: (..., features), a weight of (results, features). Leaves: (..., results).
Invariant: the gradients of the linear map are linear maps themselves.
"""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite, declare
from thunk.ops.pointwise.forms import conjugate
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes
from thunk.ops.rules.spatial import plain_spec
from thunk.types.spec import TensorSpec


def _spec(input: TensorSpec, weight: TensorSpec, bias: TensorSpec | None) -> TensorSpec:
    if not input.ndim or weight.ndim not in (1, 2):
        raise expected(
            "input of at least 1 dimension and weight of 1 or 2", f"{input.ndim} and {weight.ndim}"
        )
    if input.shape[-1] != weight.shape[-1]:
        rows = math.prod(input.shape[:-1])
        columns = "x".join(str(size) for size in reversed(weight.shape))
        raise Mismatch(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{input.shape[-1]} and {columns})"
        )
    for name, operand in (("weight", weight), ("bias", bias)):
        if operand is not None and operand.dtype is not input.dtype:
            raise Mismatch(
                f"mat1 and mat2 must have the same dtype, but got {input.dtype!r} and "
                f"{operand.dtype!r} ({name}); convert one with .to(...)"
            )
    shape = input.shape[:-1] + weight.shape[:-1]
    if bias is not None and broadcast_shapes([shape, bias.shape]) != shape:
        raise expected(f"a bias that expands to {list(shape)}", list(bias.shape))
    return plain_spec(input, shape)


def _to_input(grad: Any, weight: Any) -> Any:
    weight = conjugate(weight)
    if weight._spec.ndim == 1:
        return t.unsqueeze(grad, -1) * weight
    return t.linear(grad, t.t(weight))


def _to_weight(grad: Any, input: Any, weight_spec: TensorSpec) -> Any:
    input = conjugate(input)
    features = input._spec.shape[-1]
    rows = math.prod(input._spec.shape[:-1])
    flat = input.reshape((rows, features))
    results = math.prod(weight_spec.shape[:-1])
    sums = t.linear(t.t(grad.reshape((rows, results))), t.t(flat))
    return sums.reshape(weight_spec.shape)


declare(
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    doc="`input @ weight.T + bias`, along the last dimension.",
    spec=_spec,
    vjp={"input": _to_input, "weight": _to_weight, "bias": lambda grad: grad},
    variants="function out",
    module="nn",
    autocast="lower",
)


def _check_bilinear(first: Any, second: Any, weight: Any, bias: Any) -> None:
    one, two, cube = first._spec.shape, second._spec.shape, weight._spec.shape
    if not one or len(one) != len(two):
        raise Mismatch(f"bilinear(): input dimensions do not match: got {len(one)} and {len(two)}")
    if one[:-1] != two[:-1]:
        raise Mismatch(f"bilinear(): input batch dimensions do not match: got {one} and {two}")
    if len(cube) != 3:
        raise expected("a weight of 3 dimensions", len(cube))
    for name, have, want in (("1", one[-1], cube[1]), ("2", two[-1], cube[2])):
        if have != want:
            raise Mismatch(f"bilinear(): input{name} size does not match weight: {have} and {want}")
    if bias is not None and bias._spec.shape != (cube[0],):
        raise Mismatch(
            f"bilinear(): bias size does not match weight size: got {list(bias._spec.shape)} but "
            f"expected {cube[0]}"
        )


@composite(
    "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
    variants="function",
)
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """`input1 @ weight[k] @ input2 + bias[k]` for every k, along the last dimensions."""
    _check_bilinear(input1, input2, weight, bias)
    results, first, second = weight._spec.shape
    lead = input1._spec.shape[:-1]
    rows = math.prod(lead)
    matrix = weight.permute((0, 2, 1)).reshape((results * second, first))
    half = t.linear(input1.reshape((rows, first)), matrix).reshape((rows, results, second))
    whole = t.sum(half * input2.reshape((rows, 1, second)), -1).reshape((*lead, results))
    return whole if bias is None else whole + bias
