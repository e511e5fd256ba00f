"""The convolution of every rank, forward or transposed, and its gradients, one operator each.

Enters: a batch of pictures, a weight, the windows. Leaves: the result, or the operands' gradients.
Invariant: both operators are linear in each tensor, so the gradients of each are made of both.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ops.conv.geometry import convolution_spec
from thunk.ops.declare import declare
from thunk.ops.pointwise.arithmetic import conjugate
from thunk.ops.registry import t
from thunk.ops.rules.spatial import plain_spec
from thunk.types.spec import TensorSpec

_WINDOWS = (
    "SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
    "SymInt[] output_padding, SymInt groups"
)


def _convolution_vjp(
    grad: Any, input: Any, weight: Any, bias_spec: Any, stride: Any, padding: Any, dilation: Any,
    transposed: Any, output_padding: Any, groups: Any, needed: Any,
) -> Any:  # fmt: skip
    sizes = None if bias_spec is None else bias_spec.shape
    return t.convolution_backward(
        grad, conjugate(input), conjugate(weight), sizes, stride, padding, dilation, transposed,
        output_padding, groups, needed,
    )  # fmt: skip


declare(
    f"convolution(Tensor input, Tensor weight, Tensor? bias, {_WINDOWS}) -> Tensor",
    doc="The convolution of a batch with a weight of as many dimensions, of any rank.",
    spec=convolution_spec,
    vjp={("input", "weight", "bias"): _convolution_vjp},
    variants="function",
)


def _backward_spec(
    grad_output: TensorSpec, input: TensorSpec, weight: TensorSpec, bias_sizes: Any, stride: Any,
    padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int,
    output_mask: Any,
) -> tuple[TensorSpec | None, ...]:  # fmt: skip
    result = convolution_spec(
        input, weight, None, stride, padding, dilation, transposed, output_padding, groups
    )
    if grad_output.shape != result.shape:
        raise expected(
            f"grad_output of the result's shape {list(result.shape)}", list(grad_output.shape)
        )
    channels = grad_output.shape[1]
    specs = (input.fresh(), weight.fresh(), plain_spec(grad_output, (channels,)))
    return tuple([spec if wanted else None for spec, wanted in zip(specs, output_mask)])


def _backward_vjp(
    grads: Any, grad_output: Any, input: Any, weight: Any, stride: Any, padding: Any,
    dilation: Any, transposed: Any, output_padding: Any, groups: Any, needed: Any,
) -> Any:  # fmt: skip
    """The second gradient: the first is linear in each of its three operands."""
    to_input, to_weight, to_bias = grads
    places = (stride, padding, dilation, transposed, output_padding, groups)
    results: list[Any] = [None, None, None]
    if needed[0]:
        parts = []
        if to_input is not None:
            parts.append(t.convolution(to_input, conjugate(weight), None, *places))
        if to_weight is not None:
            parts.append(t.convolution(conjugate(input), to_weight, None, *places))
        if to_bias is not None:
            channels = to_bias.reshape((1, -1) + (1,) * (grad_output.ndim - 2))
            parts.append(channels.expand(grad_output.shape))
        results[0] = _sum(parts)
    if needed[1] and to_weight is not None:
        results[1] = t.convolution_backward(
            conjugate(grad_output), input, to_weight, None, *places, (True, False, False)
        )[0]
    if needed[2] and to_input is not None:
        results[2] = t.convolution_backward(
            conjugate(grad_output), to_input, weight, None, *places, (False, True, False)
        )[1]
    return results


def _sum(parts: list[Any]) -> Any:
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


declare(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, "
    f"{_WINDOWS}, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    doc="The gradients of `convolution` for input, weight and bias; None where not asked for.",
    spec=_backward_spec,
    vjp={("grad_output", "input", "weight"): _backward_vjp},
    variants="",
)
