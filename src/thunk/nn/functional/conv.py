"""Convolutions and sliding blocks under the names and signatures of `torch.nn.functional`."""

from __future__ import annotations

from typing import Any

from thunk.nn.functional.arguments import pair
from thunk.ops import families
from thunk.ops.registry import t

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "fold", "unfold",
]  # fmt: skip

DECLARED = families.FAMILIES

conv1d, conv2d, conv3d = t.conv1d, t.conv2d, t.conv3d
conv_transpose1d = t.conv_transpose1d
conv_transpose2d = t.conv_transpose2d
conv_transpose3d = t.conv_transpose3d
conv_tbc = t.conv_tbc


def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """The sliding blocks of pictures, each a column."""
    return t.im2col(input, pair(kernel_size), pair(dilation), pair(padding), pair(stride))


def fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
    stride: Any = 1,
) -> Any:  # fmt: skip
    """Pictures whose elements are the sums of the sliding blocks that cover them."""
    return t.col2im(
        input, pair(output_size), pair(kernel_size), pair(dilation), pair(padding), pair(stride)
    )
