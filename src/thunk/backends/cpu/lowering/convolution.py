"""Convolutions, forward and transposed, and their gradients: one library call a product.

Invariant: a transposed convolution is the gradient of the image of the plain one whose result its
input is, so three kinds of call serve both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thunk.backends.cpu.calls.layout import Layout, plain
from thunk.backends.cpu.calls.specs import Convolution, Direction
from thunk.backends.cpu.lowering.product import call_library, layout_of
from thunk.backends.cpu.runner import threads
from thunk.compiler.access import Access
from thunk.compiler.expression import working
from thunk.compiler.lowering import At, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.ops.conv.geometry import Windows, windows
from thunk.types.dtype import FLOATING
from thunk.types.spec import contiguous_strides


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor of the plain convolution: how and where it lies."""

    layout: Layout
    place: Access


def _operand(at: At, value: Value) -> Operand:
    return Operand(layout_of(value.spec), at.lower.window(value))


def _check(*values: Value) -> None:
    """Floating point of one type, and no empty sums."""
    element = values[0].spec.dtype
    if element.category != FLOATING or any(each.spec.dtype is not element for each in values):
        raise Unsupported("convolutions of other types")
    if any(0 in each.spec.shape for each in values):
        raise Unsupported("empty convolutions")


def _call(
    at: At, direction: Direction, image: Operand, weight: Operand, result: Operand,
    places: Windows, bias: Operand | None = None,
) -> None:  # fmt: skip
    """One product of the plain convolution that has these tensors."""
    after = tuple(
        before if spare < step else before - spare
        for before, spare, step in zip(places.padding, places.output_padding, places.stride)
    )
    spec = Convolution(
        direction, image.layout, weight.layout, result.layout, bias.layout if bias else None,
        places.stride, places.dilation, places.padding, after, places.groups,
        threads=threads().count,
    )  # fmt: skip
    found = {"image": image.place, "weight": weight.place, "result": result.place}
    if bias is not None:
        found["bias"] = bias.place
    call_library(at, spec, found)


@lowering("convolution")
def convolution(
    at: At, input: Value, weight: Value, bias: Value | None, *arguments: Any
) -> None:
    result = at.node.outputs[0]
    _check(input, weight, result, *([] if bias is None else [bias]))
    places = windows(len(result.spec.shape) - 2, *arguments)
    one, filters = _operand(at, input), _operand(at, weight)
    if not places.transposed and (bias is None or bias.spec.is_contiguous()):
        added = None if bias is None else _operand(at, bias)
        _call(at, "forward", one, filters, _operand(at, result), places, added)
        return
    direction: Direction = "image" if places.transposed else "forward"
    other = _operand(at, result) if bias is None else _temporary(at, result)
    image, out = (other, one) if places.transposed else (one, other)
    _call(at, direction, image, filters, out, places)
    if bias is not None:
        domain = at.points()
        domain.store(domain.lower.load(other.place) + domain.read_along(bias, [1]))


def _temporary(at: At, value: Value) -> Operand:
    """Memory for a value before its bias is added."""
    spec = value.spec
    strides = contiguous_strides(spec.shape)
    buffer = at.lower.temporary(spec.dtype, spec.numel)
    return Operand(plain(spec.shape, spec.dtype, strides), Access(buffer, spec.dtype, strides))


@lowering("convolution_backward")
def convolution_backward(
    at: At, grad_output: Value, input: Value, weight: Value, bias_sizes: Any, *arguments: Any
) -> None:
    *rest, wanted = arguments
    _check(grad_output, input, weight)
    places = windows(len(input.spec.shape) - 2, *rest)
    outputs = at.node.outputs
    grad, one, filters = (_operand(at, each) for each in (grad_output, input, weight))
    image, result = (grad, one) if places.transposed else (one, grad)
    if wanted[0]:
        target = _operand(at, outputs[0])
        if places.transposed:
            _call(at, "forward", image, filters, target, places)
        else:
            _call(at, "image", target, filters, result, places)
    with_bias = wanted[2] and not places.transposed
    if wanted[1]:
        bias = _operand(at, outputs[2]) if with_bias else None
        _call(at, "weight", image, _operand(at, outputs[1]), result, places, bias)
    if wanted[2] and not (wanted[1] and with_bias):
        _bias_gradient(at, grad_output)


def _bias_gradient(at: At, grad_output: Value) -> None:
    """Sums over samples and places."""
    domain = at.over(grad_output.spec.shape)
    term = domain.read(grad_output).to(working(grad_output.spec.dtype))
    dims = [axis for axis in range(len(domain.sizes)) if axis != 1]
    kept, total = domain.reduce("add", term, dims).kept(False)
    kept.store(total, 2)
