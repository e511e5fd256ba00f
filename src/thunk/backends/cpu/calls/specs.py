"""Enters: layouts and windows. Leaves: descriptions of library calls, checked, of plain data.

Invariant: a spec says everything about a call but which memory it reads; equal specs may share one
built call, and a spec gives the same layouts in every process on the same machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from thunk.backends.cpu.calls.layout import Layout, free, plain
from thunk.base.errors import expected


@dataclass(frozen=True, slots=True)
class Relu:
    """Negative results become zero; NaN stays."""


@dataclass(frozen=True, slots=True)
class Accumulate:
    """What the result's memory held before is added."""


@dataclass(frozen=True, slots=True)
class AddOperand:
    """One more tensor is added; extents of one are broadcast."""

    layout: Layout


PostOp = Relu | Accumulate | AddOperand


@dataclass(frozen=True, slots=True)
class Matmul:
    """left @ right + bias, for batches of matrices whose leading extents are equal or one."""

    left: Layout
    right: Layout
    out: Layout
    bias: Layout | None = None
    post: tuple[PostOp, ...] = ()
    threads: int = 1

    def __post_init__(self) -> None:
        left, right, out = self.left.shape, self.right.shape, self.out.shape
        batch = out[:-2]
        fits = (
            len(left) == len(right) == len(out) >= 2
            and left[-1] == right[-2]
            and (left[-2], right[-1]) == out[-2:]
            and all(wide in (1, extent) for wide, extent in zip(left, batch))
            and all(wide in (1, extent) for wide, extent in zip(right, batch))
        )
        if not fits:
            raise expected(
                "matrices that fit, with as many leading extents", f"{left} @ {right} -> {out}"
            ).named("matmul")
        if self.bias is not None and self.bias.shape != (out[-1],):
            raise expected(f"a bias of shape ({out[-1]},)", self.bias.shape).named("matmul")

    @property
    def inner(self) -> int:
        return self.left.shape[-1]

    @property
    def flops(self) -> int:
        return 2 * math.prod(self.out.shape) * self.inner

    def __str__(self) -> str:
        posts = "".join(f" {type(post).__name__.lower()}" for post in self.post)
        bias = " + bias" if self.bias else ""
        return f"matmul {self.left} @ {self.right}{bias} -> {self.out}{posts}"


Direction = Literal["forward", "image", "weight"]


@dataclass(frozen=True, slots=True)
class Convolution:
    """One of the three products of a convolution: its result, or the gradient of an operand.

    `image` is (N, C, *size), `weight` is (O, C / groups, *kernel), or, with groups, already split
    as (groups, O / groups, C / groups, *kernel); `result` is (N, O, *out).
    The gradient of the image is also the forward form of the transposed convolution. With
    `inference`, free layouts need not agree with those of the gradients.
    """

    direction: Direction
    image: Layout
    weight: Layout
    result: Layout
    bias: Layout | None
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding_before: tuple[int, ...]
    padding_after: tuple[int, ...]
    groups: int = 1
    post: tuple[PostOp, ...] = ()
    threads: int = 1
    inference: bool = False

    def __post_init__(self) -> None:
        image, result = self.image.shape, self.result.shape
        dims = len(image) - 2
        weight = self.split_shape
        places = (self.stride, self.dilation, self.padding_before, self.padding_after)
        if dims < 1 or any(len(each) != dims for each in places):
            raise expected("one number a spatial dimension", places).named("convolution")
        wanted = tuple(
            (size + before + after - gap * (kernel - 1) - 1) // step + 1
            for size, kernel, step, gap, before, after in zip(image[2:], weight[3:], *places)
        )
        groups = self.groups
        channels = (weight[0] * weight[2], weight[0] * weight[1])
        if (image[1], result[1]) != channels or result[0] != image[0] or weight[0] != groups:
            raise expected(
                "channels that fit", f"{image}, {self.weight.shape} in {groups} groups -> {result}"
            ).named("convolution")
        if result[2:] != wanted:
            raise expected(f"a result of size {wanted}", result[2:]).named("convolution")
        if self.direction == "image" and self.bias is not None:
            raise expected("no bias with the gradient of the image", "one").named("convolution")

    @property
    def split_shape(self) -> tuple[int, ...]:
        """The weight's shape with its groups in front."""
        shape = self.weight.shape
        if len(shape) == len(self.image.shape) + 1:
            return shape
        return (self.groups, shape[0] // self.groups, *shape[1:])

    @property
    def flops(self) -> int:
        _, _, inputs, *kernel = self.split_shape
        return 2 * math.prod(self.result.shape) * inputs * math.prod(kernel)

    def __str__(self) -> str:
        posts = "".join(f" {type(post).__name__.lower()}" for post in self.post)
        return (
            f"convolution {self.direction} {self.image} * {self.weight} -> {self.result} "
            f"stride {self.stride} dilation {self.dilation} padding {self.padding_before} "
            f"{self.padding_after} groups {self.groups}{' + bias' if self.bias else ''}{posts}"
        )


@dataclass(frozen=True, slots=True)
class Reorder:
    """The same tensor in another layout; its element type may change too."""

    source: Layout
    result: Layout
    threads: int = 1

    def __post_init__(self) -> None:
        if self.source.shape != self.result.shape:
            raise expected(f"shape {self.source.shape}", self.result.shape).named("reorder")
        if self.source.is_free or self.result.is_free:
            raise expected("layouts that are chosen", f"{self}").named("reorder")

    @property
    def flops(self) -> int:
        return 0

    def __str__(self) -> str:
        return f"reorder {self.source} -> {self.result}"


CallSpec = Matmul | Convolution | Reorder


def matmul(
    left: Layout,
    right: Layout,
    out: Layout,
    bias: Layout | None = None,
    post: tuple[PostOp, ...] = (),
    threads: int = 1,
) -> Matmul:
    """The spec of a product whose operands may have fewer leading extents than the result."""
    count = len(out.shape)
    return Matmul(_raised(left, count), _raised(right, count), out, bias, post, threads)


def _raised(matrix: Layout, count: int) -> Layout:
    """`matrix` with leading extents of one, and with broadcast ones, of stride 0, taken back."""
    missing = count - len(matrix.shape)
    shape = (1,) * missing + matrix.shape
    if matrix.strides is None:
        return free(shape, matrix.dtype)
    if matrix.blocks or missing < 0:
        return matrix
    strides = (0,) * missing + matrix.strides
    batch = [1 if stride == 0 else extent for extent, stride in zip(shape[:-2], strides)]
    rows, columns = shape[-2:]
    near = _matrix_strides(rows, columns, *strides[-2:])
    span = max(rows * near[0], columns * near[1], 1)
    far = [stride or span for stride in strides[:-2]]
    return plain((*batch, rows, columns), matrix.dtype, (*far, *near))


def _matrix_strides(rows: int, columns: int, down: int, right: int) -> tuple[int, int]:
    """Strides of a matrix in which an extent of one does not hide that the other is dense.

    Only the stride of an extent of one is free: 0 over a longer one repeats an element.
    """
    if columns == 1:
        return (1 if rows == 1 else down, 1)
    if rows == 1:
        return (columns, 1) if right == 1 else (1, right)
    return (down, right)
