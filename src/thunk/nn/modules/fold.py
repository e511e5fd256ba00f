"""Sliding blocks of pictures as columns, and their sum back into pictures."""

from __future__ import annotations

from typing import Any

from thunk.nn import functional as F
from thunk.nn.modules.module import Module

__all__ = ["Fold", "Unfold"]


class _Blocks(Module):
    """The geometry of sliding blocks."""

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def extra_repr(self) -> str:
        """The geometry of the blocks."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Unfold(_Blocks):
    """The sliding blocks of pictures, each a column."""

    def forward(self, input: Any) -> Any:
        """(sample, elements of a block, blocks)."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_Blocks):
    """Pictures whose elements are the sums of the sliding blocks that cover them."""

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
        stride: Any = 1,
    ) -> None:  # fmt: skip
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Any) -> Any:
        """Pictures of `output_size`."""
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        """The size of the pictures and the geometry of the blocks."""
        return f"output_size={self.output_size}, {super().extra_repr()}"
