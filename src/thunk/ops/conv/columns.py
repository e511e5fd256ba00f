"""Sliding blocks of pictures as columns, and their sum back into pictures.

Enters: pictures, or columns of blocks. Leaves: the other. Invariant: each is linear and the other's
adjoint, so each is the other's gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.ops.rules.spatial import check_dtype, per_dimension, plain_spec
from thunk.types.dtype import BOOL, COMPLEX, FLOATING
from thunk.types.spec import TensorSpec

Ints = Sequence[int]
_KINDS = (BOOL, FLOATING, COMPLEX)
_BLOCKS = "int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride"


def blocks(size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> list[int]:
    """How many blocks fit along each dimension."""
    return [
        (n + 2 * pad - (gap * (k - 1) + 1)) // step + 1
        for n, k, gap, pad, step in zip(size, kernel, dilation, padding, stride)
    ]


def _check_blocks(
    kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> tuple[tuple[int, ...], ...]:
    named = {
        "kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride,
    }  # fmt: skip
    found = {name: per_dimension(values, 2, name) for name, values in named.items()}
    for name, values in found.items():
        if name == "padding" and min(values) < 0:
            raise Mismatch(f"padding should be non-negative, but got {values}")
        if name != "padding" and min(values) <= 0:
            raise Mismatch(f"{name} should be greater than zero, but got {values}")
    return tuple(found.values())


def _im2col(
    self: TensorSpec, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> TensorSpec:
    places = _check_blocks(kernel_size, dilation, padding, stride)
    inner = self.shape[1:] if self.ndim == 4 else self.shape
    if self.ndim not in (3, 4) or 0 in inner:
        raise Mismatch(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(self.shape)}"
        )
    check_dtype(self, _KINDS)
    count = blocks(self.shape[-2:], *places)
    if min(count) < 1:
        raise Mismatch(
            f"Given input with spatial size {self.shape[-2:]}, kernel_size={places[0]}, "
            f"dilation={places[1]}, padding={places[2]}, calculated shape of the array of sliding "
            f"blocks as {tuple(count)}, but its components must be at least one"
        )
    rows = self.shape[-3] * math.prod(places[0])
    return plain_spec(self, (*self.shape[:-3], rows, math.prod(count)))


def _col2im(
    self: TensorSpec, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints,
    stride: Ints,
) -> TensorSpec:  # fmt: skip
    size = per_dimension(output_size, 2, "output_size")
    places = _check_blocks(kernel_size, dilation, padding, stride)
    if self.ndim not in (2, 3) or 0 in self.shape[-2:]:
        raise Mismatch(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(self.shape)}"
        )
    cells = math.prod(places[0])
    if self.shape[-2] % cells:
        raise Mismatch(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={self.shape[-2]} and kernel_size={places[0]}"
        )
    check_dtype(self, _KINDS)
    count = blocks(size, *places)
    if self.shape[-1] != math.prod(count) or min(count) < 1:
        raise Mismatch(
            f"Given output_size={size}, kernel_size={places[0]}, dilation={places[1]}, "
            f"padding={places[2]}, stride={places[3]}, expected size of input's dimension 2 to "
            f"match the calculated number of sliding blocks {' * '.join(map(str, count))} = "
            f"{math.prod(count)}, but got input.size(2)={self.shape[-1]}"
        )
    if min(size) < 1:
        raise Mismatch(f"Expected output spatial size to be positive, but got: {size}")
    return plain_spec(self, (*self.shape[:-2], self.shape[-2] // cells, *size))


def _im2col_vjp(
    grad: Any, self_spec: TensorSpec, kernel_size: Ints, dilation: Ints, padding: Ints,
    stride: Ints,
) -> Any:  # fmt: skip
    return t.col2im(grad, self_spec.shape[-2:], kernel_size, dilation, padding, stride)


def _col2im_vjp(
    grad: Any, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Any:
    return t.im2col(grad, kernel_size, dilation, padding, stride)


declare(
    f"im2col(Tensor self, {_BLOCKS}) -> Tensor",
    doc="The sliding blocks of pictures, each a column.",
    spec=_im2col,
    vjp={"self": _im2col_vjp},
    variants="",
)
declare(
    f"col2im(Tensor self, SymInt[2] output_size, {_BLOCKS}) -> Tensor",
    doc="Pictures whose elements are the sums of the sliding blocks that cover them.",
    spec=_col2im,
    vjp={"self": _col2im_vjp},
    variants="",
)
