"""The convolutions as users call them: of one, two and three dimensions, batched or not.

Enters: pictures with or without a batch dimension. Leaves: `convolution` of a batch.
Invariant: nothing is computed here; every form is `convolution` with its arguments in place.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.ops.rules.spatial import batched, per_dimension

_NAMES = {1: "[1]", 2: "[1, 1]", 3: "[1, 1, 1]"}
_ZEROS = {1: "[0]", 2: "[0, 0]", 3: "[0, 0, 0]"}


def _over_batch(input: Any, weight: Any, bias: Any, dims: int, *arguments: Any) -> Any:
    """`convolution` of `input`, which is made a batch of one if it is none."""
    _check_rank(weight, dims)
    if batched(input._spec, dims):
        return t.convolution(input, weight, bias, *arguments)
    return t.convolution(t.unsqueeze(input, 0), weight, bias, *arguments).squeeze(0)


def _check_rank(weight: Any, dims: int) -> None:
    if weight.ndim != dims + 2:
        raise Mismatch(
            f"expected a weight of {dims + 2} dimensions, got {list(weight.shape)}; its dimensions "
            "are channels out, channels in by group, and one a spatial dimension"
        )


def _forward(dims: int) -> Any:
    def convolve(
        input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> Any:
        arguments = (stride, padding, dilation, False, (0,) * dims, groups)
        return _over_batch(input, weight, bias, dims, *arguments)

    return convolve


def _forward_named_padding(dims: int) -> Any:
    def convolve(
        input: Any, weight: Any, bias: Any, stride: Any, padding: str, dilation: Any, groups: int
    ) -> Any:
        if padding == "valid":
            zeros = (0,) * dims
            arguments = (stride, zeros, dilation, False, zeros, groups)
            return _over_batch(input, weight, bias, dims, *arguments)
        if padding != "same":
            raise Mismatch(
                f"expected padding 'same', 'valid' or numbers, got {padding!r}; "
                f"Invalid padding string: {padding!r}"
            )
        return _same(input, weight, bias, dims, stride, dilation, groups)

    return convolve


def _same(
    input: Any, weight: Any, bias: Any, dims: int, stride: Any, dilation: Any, groups: int
) -> Any:
    """A result of the input's size: where the padding is odd, the end gets one more."""
    _check_rank(weight, dims)
    batched(input._spec, dims)
    if any(each != 1 for each in stride):
        raise Mismatch(f"padding='same' is not supported for strided convolutions, got {stride}")
    gaps = per_dimension(dilation, dims, "dilation")
    totals = [gap * (size - 1) for gap, size in zip(gaps, weight.shape[2:])]
    before = [total // 2 for total in totals]
    odd = [total % 2 for total in totals]
    if any(odd):
        # The pairs of `constant_pad_nd` start at the last dimension.
        pairs = [number for extra in reversed(odd) for number in (0, extra)]
        input = t.constant_pad_nd(input, pairs, 0)
    arguments = ((1,) * dims, before, gaps, False, (0,) * dims, groups)
    return _over_batch(input, weight, bias, dims, *arguments)


def _transposed(dims: int) -> Any:
    def convolve(
        input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any,
        groups: int, dilation: Any,
    ) -> Any:  # fmt: skip
        arguments = (stride, padding, dilation, True, output_padding, groups)
        return _over_batch(input, weight, bias, dims, *arguments)

    return convolve


def _declare_forms(dims: int) -> None:
    ones, zeros = f"SymInt[{dims}] {{}}={_NAMES[dims]}", f"SymInt[{dims}] {{}}={_ZEROS[dims]}"
    operands = "Tensor input, Tensor weight, Tensor? bias=None"
    stride, dilation, padding = ones.format("stride"), ones.format("dilation"), zeros.format(
        "padding"
    )
    declare(
        f"conv{dims}d({operands}, {stride}, {padding}, {dilation}, SymInt groups=1) -> Tensor",
        doc=f"A convolution over {dims} spatial dimension(s), batched or not.",
        decompose=_forward(dims),
        variants="function",
        autocast="lower",
    )
    declare(
        f'conv{dims}d.padding({operands}, {stride}, str padding="valid", {dilation}, '
        "SymInt groups=1) -> Tensor",
        doc=f"A convolution over {dims} spatial dimension(s), padded by name: same or valid.",
        decompose=_forward_named_padding(dims),
        variants="function",
        autocast="lower",
    )
    overload = "" if dims == 1 else ".input"
    declare(
        f"conv_transpose{dims}d{overload}({operands}, {stride}, {padding}, "
        f"{zeros.format('output_padding')}, SymInt groups=1, {dilation}) -> Tensor",
        doc=f"A transposed convolution over {dims} spatial dimension(s), batched or not.",
        decompose=_transposed(dims),
        variants="function",
        autocast="lower",
    )


for _dims in (1, 2, 3):
    _declare_forms(_dims)


def _conv_tbc(self: Any, weight: Any, bias: Any, pad: int) -> Any:
    for name, tensor, meaning in (
        ("input", self, "time, batch, channels"),
        ("weight", weight, "kernel, channels in, channels out"),
    ):
        if tensor.ndim != 3:
            raise Mismatch(f"{name} must have 3 dims ({meaning}), got {list(tensor.shape)}")
    if bias.ndim != 1:
        raise Mismatch(f"Bias must be 1-D, got {list(bias.shape)}")
    arguments = ((1,), (pad,), (1,), False, (0,), 1)
    result = t.convolution(self.permute(1, 2, 0), weight.permute(2, 1, 0), bias, *arguments)
    return result.permute(2, 0, 1).contiguous()


declare(
    "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    doc="A convolution over time of pictures (time, batch, channels).",
    decompose=_conv_tbc,
    variants="function",
    autocast="lower",
)
