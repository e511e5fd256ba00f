"""Normalisation of layers, groups and neighbours; batches and instances have files of their own.

Enters: a tensor of any number of dimensions. Leaves: one of the same shape. Invariant: scales start
at 1 and shifts at 0, so a fresh layer only normalises.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from thunk.nn import functional as F
from thunk.nn import init
from thunk.nn.modules.module import Module
from thunk.nn.parameter import Parameter
from thunk.ops.registry import t

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _as_shape(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, numbers.Integral) else tuple(shape)


class _Affine(Module):
    """A layer with a scale and a shift, both optional."""

    weight: Any
    bias: Any

    def _add_affine(
        self, shape: Sequence[int], scale: bool, shift: bool | None, device: Any, dtype: Any
    ) -> None:
        """Empty parameters; `shift=None` says that the layer has none, not even an absent one."""
        wanted = [("weight", scale)] + ([] if shift is None else [("bias", scale and shift)])
        for name, present in wanted:
            empty = t.empty(shape, device=device, dtype=dtype) if present else None
            self.register_parameter(name, None if empty is None else Parameter(empty))

    def reset_parameters(self) -> None:
        """Scale 1 and shift 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """The last dimensions normalised together, then scaled and shifted."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5,
        elementwise_affine: bool = True, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._add_affine(self.normalized_shape, elementwise_affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        """Rows of mean 0 and variance 1, scaled and shifted."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """All arguments."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class GroupNorm(_Affine):
    """Groups of channels normalised together, then scaled and shifted by channel."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._add_affine((num_channels,), affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        """Groups of mean 0 and variance 1, scaled and shifted."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """All arguments."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """The last dimensions divided by the root of their mean square, then scaled."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None,
        elementwise_affine: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._add_affine(self.normalized_shape, elementwise_affine, None, device, dtype)
        self.reset_parameters()

    def forward(self, x: Any) -> Any:
        """Rows of mean square 1, scaled."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """All arguments."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}"
        )


class _ResponseNorm(Module):
    """The arguments of normalisation by neighbouring channels."""

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def extra_repr(self) -> str:
        """All arguments."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_ResponseNorm):
    """Elements divided by a power of the mean square of their neighbours across channels."""

    def forward(self, input: Any) -> Any:
        """The response of every element among its neighbours."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_ResponseNorm):
    """The older form of `LocalResponseNorm`, for pictures: the first channel stays in every sum.

    Its values are PyTorch's; its gradient is that of these values.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Any) -> Any:
        """The response of every element among its neighbours."""
        if input.dim() != 4:
            raise ValueError(
                f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead."
            )
        channels, reach = input.shape[1], int((self.size - 1) / 2 + 1)
        square = input * input
        edge = (0, 0, 0, 0, reach - 1, reach - 1)
        padded = F.pad(square, edge)
        total = t.narrow(padded, 1, 0, channels)
        for offset in range(1, 2 * reach - 1):
            total = total + t.narrow(padded, 1, offset, channels)
        if channels > reach:
            first = t.narrow(square, 1, 0, 1)
            later = first.expand(-1, channels - reach, -1, -1)
            total = total + F.pad(later, (0, 0, 0, 0, reach, 0))
        return input * t.pow(total * (self.alpha / self.size) + self.k, -self.beta)
