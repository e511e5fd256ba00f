"""Convolutions and their gradients: library calls in layouts that the library chooses."""

from __future__ import annotations

from math import prod
from typing import Any

from thunk.backends.cpu.calls.build import build
from thunk.backends.cpu.calls.layout import Layout, split_groups
from thunk.backends.cpu.calls.specs import Convolution, Direction
from thunk.backends.cpu.lowering.blocked import (
    add_call,
    give_plain,
    in_layout,
    layout_of,
    made_in_layout,
    natural,
    natural_over,
)
from thunk.backends.cpu.runner import threads
from thunk.compiler.access import Access
from thunk.compiler.lowering import At, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.ops.conv.geometry import Windows, windows
from thunk.types.dtype import FLOATING

FREE_POINTS = 1 << 10  # below this a layout of the library's own is not worth its reorders


class _Call:
    """One of a convolution's three products, about to be called."""

    def __init__(
        self, at: At, direction: Direction, image: Value, weight: Value, result: Value,
        places: Windows, bias: Layout | None = None,
    ) -> None:  # fmt: skip
        self.values = {"image": image, "weight": weight, "result": result}
        self.own = {name: layout_of(value.spec) for name, value in self.values.items()}
        self.own["weight"] = split_groups(self.own["weight"], places.groups)
        wanted = list(self.own.values())
        if prod(result.spec.shape) >= FREE_POINTS and len(image.spec.shape) >= 3:
            wanted = [each.freed() for each in wanted]
        after = tuple(
            before if spare < step else before - spare
            for before, spare, step in zip(places.padding, places.output_padding, places.stride)
        )
        spec = Convolution(
            direction, wanted[0], wanted[1], wanted[2], bias, places.stride, places.dilation,
            places.padding, after, places.groups, threads=threads().count,
        )  # fmt: skip
        self.at = at
        self.built = build(spec)
        self.written = {"forward": "result", "image": "image", "weight": "weight"}[direction]

    def run(self, bias: Access | None = None) -> None:
        """Reorder what must be, call, and give the result its plain memory."""
        places: dict[str, Access] = {}
        for name, value in self.values.items():
            layout, own = self.built.layout(name), self.own[name]
            put = made_in_layout if name == self.written else in_layout
            places[name] = put(self.at, value, layout, own)
        if bias is not None:
            places["bias"] = bias
        add_call(self.at, self.built, places)
        written = self.values[self.written]
        give_plain(self.at, written, self.built.layout(self.written), self.own[self.written])


def _check(at: At, values: list[Value]) -> None:
    element = values[0].spec.dtype
    if element.category != FLOATING or any(each.spec.dtype is not element for each in values):
        raise Unsupported("convolutions of other types")
    if any(each.spec.numel == 0 for each in values):
        raise Unsupported("convolutions of nothing")


@lowering("convolution")
def convolution(at: At, input: Value, weight: Value, bias: Any, *arguments: Any) -> None:
    result = at.node.outputs[0]
    _check(at, [input, weight, result, *([] if bias is None else [bias])])
    places = windows(len(result.spec.shape) - 2, *arguments)
    if not places.transposed and (bias is None or bias.spec.is_contiguous()):
        own = None if bias is None else layout_of(bias.spec)
        call = _Call(at, "forward", input, weight, result, places, own)
        call.run(None if bias is None else at.lower.window(bias))
        return
    middle = result if bias is None else Value(result.spec)
    if places.transposed:
        _Call(at, "image", middle, weight, input, places).run()
    else:
        _Call(at, "forward", input, weight, middle, places).run()
    if bias is not None:
        domain = natural(at, (middle,))
        domain.store(domain.read(middle) + domain.read_along(bias, (1,)))


@lowering("convolution_backward")
def convolution_backward(
    at: At, grad_output: Value, input: Value, weight: Value, bias_sizes: Any, *arguments: Any
) -> None:
    *rest, wanted = arguments
    to_input, to_weight, to_bias = at.node.outputs
    _check(at, [grad_output, input, weight])
    places = windows(len(input.spec.shape) - 2, *rest)
    if wanted[0]:
        if places.transposed:
            _Call(at, "forward", grad_output, weight, to_input, places).run()
        else:
            _Call(at, "image", to_input, weight, grad_output, places).run()
    if wanted[1]:
        image, result = (grad_output, input) if places.transposed else (input, grad_output)
        _Call(at, "weight", image, to_weight, result, places).run()
    if wanted[2]:
        over = (0, *range(2, len(grad_output.spec.shape)))
        domain = natural_over(at, grad_output)
        row = domain.reduce("add", domain.read(grad_output), domain.loops_of(over))
        channels = at.over(to_bias.spec.shape)
        channels.store(at.lower.load(domain.channel(row.access)), 2)
