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
from thunk.types.dtype import FLOATING

FREE_POINTS = 1 << 10  # below this a layout of the library's own is not worth its reorders


class _Call:
    """One of a convolution's three products, about to be called."""

    def __init__(
        self, at: At, direction: Direction, image: Value, weight: Value, result: Value,
        places: tuple[Any, Any, Any, int], bias: Layout | None = None,
    ) -> None:  # fmt: skip
        stride, padding, dilation, groups = places
        self.values = {"image": image, "weight": weight, "result": result}
        self.own = {name: layout_of(value.spec) for name, value in self.values.items()}
        self.own["weight"] = split_groups(self.own["weight"], groups)
        wanted = list(self.own.values())
        if prod(result.spec.shape) >= FREE_POINTS and len(image.spec.shape) >= 3:
            wanted = [each.freed() for each in wanted]
        spec = Convolution(
            direction, wanted[0], wanted[1], wanted[2], bias, tuple(stride), tuple(dilation),
            tuple(padding), tuple(padding), groups, threads=threads().count,
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
def convolution(
    at: At, input: Value, weight: Value, bias: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> None:  # fmt: skip
    result = at.node.outputs[0]
    _check(at, [input, weight, result])
    places = (stride, padding, dilation, groups)
    if not transposed:
        own = None if bias is None else layout_of(bias.spec)
        call = _Call(at, "forward", input, weight, result, places, own)
        call.run(None if bias is None else at.lower.window(bias))
        return
    if bias is None:
        _Call(at, "image", result, weight, input, places).run()
        return
    middle = Value(result.spec)
    _Call(at, "image", middle, weight, input, places).run()
    domain = natural(at, (middle,))
    domain.store(domain.read(middle) + domain.read_along(bias, (1,)))


@lowering("convolution_backward")
def convolution_backward(
    at: At, grad_output: Value, input: Value, weight: Value, bias_sizes: Any, stride: Any,
    padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int,
    output_mask: Any,
) -> None:  # fmt: skip
    to_input, to_weight, to_bias = at.node.outputs
    _check(at, [grad_output, input, weight])
    places = (stride, padding, dilation, groups)
    if output_mask[0]:
        if transposed:
            _Call(at, "forward", grad_output, weight, to_input, places).run()
        else:
            _Call(at, "image", to_input, weight, grad_output, places).run()
    if output_mask[1]:
        image, result = (grad_output, input) if transposed else (input, grad_output)
        _Call(at, "weight", image, to_weight, result, places).run()
    if output_mask[2]:
        rank = len(grad_output.spec.shape)
        over = (0, *range(2, rank))
        domain = natural_over(at, grad_output)
        row = domain.reduce("add", domain.read(grad_output), domain.loops_of(over))
        channels = at.over(to_bias.spec.shape)
        channels.store(at.lower.load(domain.channel(row.access)), 2)
