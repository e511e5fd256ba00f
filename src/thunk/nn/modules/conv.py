"""Convolutions and transposed convolutions of one to three spatial dimensions.

Enters: (sample, channel, places) or one sample of it. Leaves: the same with other channels.
Invariant: weights and bias are drawn in PyTorch's order, from the same distributions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from thunk.nn import functional as F
from thunk.nn import init
from thunk.nn.modules.module import Module
from thunk.nn.modules.utils import _pair, _reverse_repeat_tuple, _single, _triple
from thunk.nn.parameter import Parameter
from thunk.ops.registry import t

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
]  # fmt: skip

_PADDING_NAMES = ("same", "valid")
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _check(
    in_channels: int, out_channels: int, stride: Sequence[int], padding: Any, groups: int,
    padding_mode: str,
) -> None:  # fmt: skip
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in _PADDING_NAMES:
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {_PADDING_NAMES}"
            )
        if padding == "same" and any(each != 1 for each in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'"
        )


def _paddings(padding: Any, kernel_size: Sequence[int], dilation: Sequence[int]) -> Sequence[int]:
    """How much to pad before and after each dimension, the last dimension first."""
    if not isinstance(padding, str):
        return _reverse_repeat_tuple(padding, 2)
    if padding == "valid":
        return [0, 0] * len(kernel_size)
    found: list[int] = []
    for gap, size in zip(reversed(dilation), reversed(kernel_size)):
        total = gap * (size - 1)
        found += [total // 2, total - total // 2]
    return found


class _ConvNd(Module):
    """What all convolutions share: arguments, weights and their text."""

    weight: Any
    bias: Any

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...],
        stride: tuple[int, ...], padding: Any, dilation: tuple[int, ...], transposed: bool,
        output_padding: tuple[int, ...], groups: int, bias: bool, padding_mode: str,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        _check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _paddings(padding, kernel_size, dilation)
        channels = (out_channels, in_channels // groups)
        if transposed:
            channels = (in_channels, out_channels // groups)
        self.weight = Parameter(t.empty((*channels, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(t.empty((out_channels,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight and the bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def _convolve(self, convolve: Any, input: Any, weight: Any, bias: Any) -> Any:
        """One of the functions of convolution, on an input padded as `padding_mode` says."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * len(self.kernel_size)
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__}: expected a subclass that defines _conv_forward, such as Conv2d"
        )

    def extra_repr(self) -> str:
        """The arguments that are not at their defaults."""
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        ]
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (usual,) * len(value):
                parts.append(f"{name}={value}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"padding_mode": "zeros", **state})


class Conv1d(_ConvNd):
    """A convolution over one spatial dimension."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        padding = padding if isinstance(padding, str) else _single(padding)
        super().__init__(
            in_channels, out_channels, _single(kernel_size), _single(stride), padding,
            _single(dilation), False, _single(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        return self._convolve(F.conv1d, input, weight, bias)

    def forward(self, input: Any) -> Any:
        """The convolution of signals."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv2d(_ConvNd):
    """A convolution over two spatial dimensions."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        padding = padding if isinstance(padding, str) else _pair(padding)
        super().__init__(
            in_channels, out_channels, _pair(kernel_size), _pair(stride), padding,
            _pair(dilation), False, _pair(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        return self._convolve(F.conv2d, input, weight, bias)

    def forward(self, input: Any) -> Any:
        """The convolution of pictures."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv3d(_ConvNd):
    """A convolution over three spatial dimensions."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        padding = padding if isinstance(padding, str) else _triple(padding)
        super().__init__(
            in_channels, out_channels, _triple(kernel_size), _triple(stride), padding,
            _triple(dilation), False, _triple(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        return self._convolve(F.conv3d, input, weight, bias)

    def forward(self, input: Any) -> Any:
        """The convolution of volumes."""
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTransposeNd(_ConvNd):
    """What the transposed convolutions share: the choice of the result's size."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...],
        stride: tuple[int, ...], padding: Any, dilation: tuple[int, ...], transposed: bool,
        output_padding: tuple[int, ...], groups: int, bias: bool, padding_mode: str,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {self.__class__.__name__}'
            )
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, transposed,
            output_padding, groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(
        self, input: Any, output_size: Sequence[int] | None, stride: Sequence[int],
        padding: Sequence[int], kernel_size: Sequence[int], num_spatial_dims: int,
        dilation: Sequence[int] | None = None,
    ) -> Sequence[int]:  # fmt: skip
        """What to add to the smallest possible result to get `output_size`."""
        if output_size is None:
            return _single(self.output_padding)
        lead = input.dim() - num_spatial_dims
        if len(output_size) == lead + num_spatial_dims:
            output_size = output_size[lead:]
        if len(output_size) != num_spatial_dims:
            raise ValueError(
                f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must "
                f"have {num_spatial_dims} or {lead + num_spatial_dims} elements "
                f"(got {len(output_size)})"
            )
        gaps = (1,) * num_spatial_dims if dilation is None else dilation
        smallest = [
            (size - 1) * step - 2 * pad + gap * (kernel - 1) + 1
            for size, step, pad, gap, kernel in zip(
                input.shape[lead:], stride, padding, gaps, kernel_size
            )
        ]
        largest = [size + step - 1 for size, step in zip(smallest, stride)]
        if any(not low <= size <= high for low, size, high in zip(smallest, output_size, largest)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} "
                f"to {largest} (for an input of {input.size()[2:]})"
            )
        return [size - low for size, low in zip(output_size, smallest)]

    def _transpose(self, convolve: Any, input: Any, output_size: Sequence[int] | None) -> Any:
        """One of the functions of transposed convolution."""
        if self.padding_mode != "zeros":
            raise ValueError(
                f"Only `zeros` padding mode is supported for {self.__class__.__name__}"
            )
        extra = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size,
            len(self.kernel_size), self.dilation,
        )  # fmt: skip
        return convolve(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups,
            self.dilation,
        )  # fmt: skip


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of a convolution over one spatial dimension."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, _single(kernel_size), _single(stride), _single(padding),
            _single(dilation), True, _single(output_padding), groups, bias, padding_mode, device,
            dtype,
        )  # fmt: skip

    def forward(self, input: Any, output_size: Sequence[int] | None = None) -> Any:
        """Signals of `output_size`, or of the smallest size."""
        return self._transpose(F.conv_transpose1d, input, output_size)


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of a convolution over two spatial dimensions."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, _pair(kernel_size), _pair(stride), _pair(padding),
            _pair(dilation), True, _pair(output_padding), groups, bias, padding_mode, device,
            dtype,
        )  # fmt: skip

    def forward(self, input: Any, output_size: Sequence[int] | None = None) -> Any:
        """Pictures of `output_size`, or of the smallest size."""
        return self._transpose(F.conv_transpose2d, input, output_size)


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of a convolution over three spatial dimensions."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, _triple(kernel_size), _triple(stride), _triple(padding),
            _triple(dilation), True, _triple(output_padding), groups, bias, padding_mode, device,
            dtype,
        )  # fmt: skip

    def forward(self, input: Any, output_size: Sequence[int] | None = None) -> Any:
        """Volumes of `output_size`, or of the smallest size."""
        return self._transpose(F.conv_transpose3d, input, output_size)
